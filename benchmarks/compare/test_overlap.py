"""What bench/overlap.py makes of made-up timelines."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))

import overlap  # noqa: E402


def move(rank, begin, end, name, call=1):
    return {"ph": "X", "pid": rank, "tid": 0, "ts": begin, "dur": end - begin, "cat": "copy", "name": name, "args": {"call": call, "of": "all_reduce", "algorithm": "rail"}}


class Overlap(unittest.TestCase):
    def judged(self, *moves):
        (parts,) = [overlap.judge(moves) for moves in overlap.calls_of(list(moves)).values()]
        return parts

    def test_inner_steps_count_while_a_message_is_under_way(self):
        inner, both, network, span = self.judged(
            move(0, 0, 10, "copy input[0] -> link(2,0)"), move(0, 10, 30, "copy input[1] -> scratch[0]"), move(2, 20, 25, "copy link(0,0) -> output[0]"))
        self.assertEqual((inner, both, network, span), (20, 10, 10, 30))

    def test_messages_of_a_link_arrive_in_their_order_and_links_are_told_apart(self):
        moves = [move(0, 0, 1, "copy input[0] -> link(2,0)"), move(0, 1, 2, "copy input[0] -> link(2,0)"), move(2, 5, 6, "copy link(0,0) -> output[0]"),
                 move(2, 8, 9, "copy link(0,0) -> output[1]"), move(1, 7, 12, "reduce scratch@0[0], input[0] -> scratch[1]")]
        self.assertEqual(self.judged(*moves)[1:3], (1, 7))  # 1 to 5 and 2 to 8, one after the other 1 to 8
        other = [{**one, "name": one["name"].replace("link(0,0)", "link(0,1)")} for one in moves]
        self.assertEqual(self.judged(*other)[1:3], (0, 0))

    def test_stalls_and_waits_are_no_work(self):
        waits = {**move(0, 0, 50, "wait rank 1 lane 0 signal 0"), "cat": "wait"}
        stalls = move(0, 0, 50, "stalled: copy scratch[0] -> link(2,0)")
        inner = self.judged(waits, stalls, move(0, 50, 51, "copy scratch@1[0] -> link(2,0)"), move(2, 60, 61, "copy link(0,0) -> output[0]"))[0]
        self.assertEqual(inner, 1)

    def test_files_without_both_are_refused(self):
        for text in ("nothing", json.dumps({"traceEvents": [move(0, 0, 1, "copy input[0] -> output[0]")]})):
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file, contextlib.redirect_stderr(io.StringIO()):
                file.write(text)
                file.flush()
                self.assertEqual(overlap.main([file.name]), 2)


if __name__ == "__main__":
    unittest.main()
