"""What a reader gets to see: tables and plots, also of results from before there were types. python3 -m unittest discover -s benchmarks/compare"""

import contextlib
import io
import json
import pathlib
import unittest
import xml.etree.ElementTree

import plot
import ratios
import report

OTHER_FORMS = ("-torch.json", "-gpu-check.json", "-latency.json", "-predict.json")  # of results that other programs write
RESULTS = pathlib.Path(__file__).parent.parent / "results"


def printed(show, *arguments):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        show(*arguments)
    return out.getvalue()


def rows_of(collective, element, times):
    """Seven rounds of each library: {library: µs}."""
    return [{"library": library, "setting": "", "collective": collective, "type": element, "ranks": 2, "bytes": 64, "in_place": False,
             "touch": False, "round": r, "time_us": time, "state": "near"} for library, time in times.items() for r in range(7)]


class Tables(unittest.TestCase):
    def test_a_table_names_type_libraries_and_the_best_peer(self):
        summary = ratios.summarize(rows_of("all_to_all", "bf16", {"rondo": 1.0, "intelmpi": 4.0, "oneccl": 5.0}), "rondo")
        table = printed(report.show_table, summary, "rondo")
        for text in ("all_to_all bf16, 2 ranks, cores near, out of place", "intelmpi", "oneccl", "0.25 [0.25, 0.25] intelmpi"):
            self.assertIn(text, table)
        self.assertIn("all_to_all bf16, 2 ranks", printed(report.show_means, ratios.geometric_means(summary), "rondo"))

    def test_symmetric_buffers_have_rows_of_their_own_and_are_no_peer(self):
        rows = rows_of("all_gather", "f32", {"rondo": 2.0, "symmetric": 1.0, "mpich": 4.0})
        self.assertIn("0.50 [0.50, 0.50] mpich", printed(report.show_table, ratios.summarize(rows, "rondo"), "rondo"))
        table = printed(report.show_table, ratios.summarize(rows, report.SYMMETRIC), report.SYMMETRIC)
        self.assertIn("0.25 [0.25, 0.25] mpich", table)
        self.assertIn("symmetric / best peer", table)

    def test_only_reductions_are_sums(self):
        title = lambda collective: printed(report.show_table, ratios.summarize(rows_of(collective, "f32", {"rondo": 1.0}), "rondo"), "rondo")
        self.assertIn("reduce f32 sum, 2 ranks", title("reduce"))
        self.assertIn("gather f32, 2 ranks", title("gather"))

    def test_who_took_no_part_is_said(self):
        lacking = [{"collective": "all_reduce", "type": "bf16", "library": library, "placements": ["in place", "out of place"]}
                   for library in ("gloo", "mpich")]
        lacking.append({"collective": "all_to_all", "type": "f32", "library": "gloo", "placements": ["in place"]})
        text = printed(report.show_lacking, lacking)
        self.assertIn("all_reduce bf16: gloo, mpich\n", text)
        self.assertIn("all_to_all f32: gloo (in place)\n", text)
        self.assertEqual(printed(report.show_lacking, []), "")


class Plots(unittest.TestCase):
    def test_every_library_that_is_compared_has_a_colour(self):
        self.assertLessEqual(set(ratios.PEERS) | {"rondo", "symmetric", "floor", "plan"}, set(plot.COLOURS))

    def test_a_plot_has_a_panel_for_each_collective_and_type(self):
        rows = rows_of("gather", "f32", {"rondo": 1.0, "mpich": 2.0}) + rows_of("gather", "bf16", {"rondo": 1.0, "oneccl": 2.0})
        picture = plot.draw(ratios.summarize(rows, "rondo"), "rondo", "title")
        xml.etree.ElementTree.fromstring(picture)
        for text in ("gather f32, 2 ranks", "gather bf16, 2 ranks", ">oneccl<"):
            self.assertIn(text, picture)

    def test_what_has_no_size_is_in_the_table_and_not_in_the_plot(self):
        rows = rows_of("barrier", "f32", {"rondo": 1.0, "mpich": 2.0})
        for row in rows:
            row["bytes"] = 0
        summary = ratios.summarize(rows, "rondo")
        self.assertIn("barrier", printed(report.show_table, summary, "rondo"))
        self.assertNotIn("barrier", plot.draw(summary, "rondo", "title"))

    def test_results_that_are_kept_can_be_summed_up_and_drawn_again(self):
        files = sorted(file for file in RESULTS.glob("*.json") if not file.name.endswith(OTHER_FORMS))
        self.assertTrue(files)
        for file in files:
            with self.subTest(file.name):
                result = json.loads(file.read_text(encoding="utf-8"))
                # A tenth of a long run is enough, and whole rounds keep their pairs.
                summary = ratios.summarize([row for row in result["rows"] if row["round"] < 5], "rondo")
                self.assertTrue(any(entry.get("to_best_peer") for entry in summary))
                xml.etree.ElementTree.fromstring(plot.draw(summary, "rondo", file.stem))
                sums = any(row["collective"] == "all_reduce" for row in result["rows"])
                self.assertRegex(printed(report.show_table, summary, "rondo"), "all_reduce (f32|bf16) sum" if sums else "broadcast (f32|bf16), 2 ranks")


if __name__ == "__main__":
    unittest.main()
