"""What bench_predict measures it can read again, and says what is wrong with a file that it can't. The program's path is the first argument."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False, timeout=120)


class Recordings(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.file = pathlib.Path(self.folder.name) / "recorded.json"

    def tearDown(self):
        self.folder.cleanup()

    def measure(self, *flags):
        done = run("--quiet", "--ops", "all_reduce,barrier", "--sizes", "64,1K", "--rounds", "1", "--batch-ms", "0.05", "--json", str(self.file), *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(self.file.read_text(encoding="utf-8"))

    def test_what_was_measured_is_read_again(self):
        (recorded,) = self.measure()
        self.assertEqual(recorded["ranks"], 2)
        self.assertGreater(recorded["own_cache_bytes"], 0)
        self.assertTrue(all(line["measured_ns"] > 0 for line in recorded["lines"]))
        again = run("--replay", str(self.file))
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(again.stdout.count("inline"), sum(line["algorithm"] == "inline" for line in recorded["lines"]))

    def test_all_modes_are_recorded(self):
        modes = [(one["in_place"], one["touched"]) for one in self.measure("--all-modes")]
        self.assertEqual(modes, [(False, False), (True, False), (False, True), (True, True)])
        again = run("--quiet", "--replay", str(self.file))
        self.assertEqual(again.stdout.count("in place, touched:"), 1, again.stdout)
        self.assertEqual(run("--all-modes", "--touch").returncode, 2)

    def test_choices_are_the_model_s_of_today(self):
        (recorded,) = self.measure()
        times = {"inline": 1000, "one_shot": 1000, "two_shot": 1000, "recursive_doubling": 100}  # as if a call that the model won't take were the fastest
        recorded["lines"] = [{"state": "only", "op": "all_reduce", "bytes": 64, "algorithm": name, "rounds_chosen": 0, "predicted_ns": 1, "measured_ns": ns,
                              "floor_ns": 100} for name, ns in times.items()]
        self.file.write_text(json.dumps([recorded]), encoding="utf-8")
        lost = run("--quiet", "--most-regret", "1.1", "--replay", str(self.file))
        self.assertEqual(lost.returncode, 1, lost.stdout)
        self.assertIn("--most-regret", lost.stderr)

    def test_a_file_that_is_none_is_named(self):
        for text in ("", "[1]", "[{}]", '{"a": 1}'):
            self.file.write_text(text, encoding="utf-8")
            refused = run("--replay", str(self.file))
            self.assertEqual(refused.returncode, 1, text)
            self.assertIn(str(self.file), refused.stderr)
        self.assertEqual(run("--replay", str(self.file) + ".none").returncode, 2)


if __name__ == "__main__":
    unittest.main()
