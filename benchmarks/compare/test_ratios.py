"""python3 -m unittest discover -s benchmarks/compare"""

import random
import unittest

import ratios


def block(**fields):
    base = {"library": "rondo", "setting": "default", "collective": "all_reduce", "ranks": 2, "bytes": 8,
            "in_place": False, "touch": False, "round": 0, "time_us": 1.0, "state": "near"}
    return {**base, **fields}


class States(unittest.TestCase):
    def test_two_clusters_of_floors_are_near_and_far(self):
        rng = random.Random(1)
        floors = [rng.gauss(55, 3) for _ in range(300)] + [rng.gauss(270, 15) for _ in range(50)]
        states = ratios.find_states(floors)
        self.assertAlmostEqual(states["centres"]["near"], 55, delta=3)
        self.assertAlmostEqual(states["centres"]["far"], 270, delta=10)
        self.assertTrue(70 < states["threshold_ns"] < 220)

    def test_one_cluster_is_named_by_its_place(self):
        self.assertEqual(list(ratios.find_states([52, 55, 57, 60] * 20)["centres"]), ["near"])
        self.assertEqual(list(ratios.find_states([250, 270, 275] * 20)["centres"]), ["far"])

    def test_a_block_during_which_the_state_flipped_or_was_disturbed_has_no_state(self):
        states = {"threshold_ns": 120, "centres": {"near": 55, "far": 270}}
        during = lambda before, after: ratios.state_of({"floor_before_ns": before, "floor_after_ns": after}, states)
        self.assertEqual(during(54, 60), "near")
        self.assertEqual(during(260, 300), "far")
        self.assertIsNone(during(54, 270))
        self.assertIsNone(during(270, 54))
        self.assertIsNone(during(270, 2000))


class Ratios(unittest.TestCase):
    def test_ratios_are_paired_within_a_round(self):
        # The machine slows down tenfold halfway; within each round the subject takes half the time.
        ours = {r: 1.0 if r < 11 else 10.0 for r in range(21)}
        theirs = {r: 2.0 if r < 11 else 20.0 for r in range(21)}
        found = ratios.paired(ours, theirs)
        self.assertEqual((found["ratio"], found["low"], found["high"], found["rounds"]), (0.5, 0.5, 0.5, 21))

    def test_too_few_common_rounds_give_no_ratio(self):
        self.assertIsNone(ratios.paired({r: 1.0 for r in range(4)}, {r: 1.0 for r in range(21)}))

    def test_the_interval_holds_the_median_and_grows_with_the_spread(self):
        rng = random.Random(2)
        tight = [rng.gauss(1, 0.01) for _ in range(21)]
        wide = [rng.gauss(1, 0.3) for _ in range(21)]
        self.assertLess(ratios.interval(tight)[1] - ratios.interval(tight)[0], 0.05)
        self.assertGreater(ratios.interval(wide)[1] - ratios.interval(wide)[0], 0.1)

    def test_each_library_counts_at_its_best_setting_and_the_best_peer_is_the_reference(self):
        rows = []
        for r in range(21):
            rows.append(block(round=r, time_us=1.0))
            rows.append(block(round=r, library="openmpi", setting="slow", time_us=9.0))
            rows.append(block(round=r, library="openmpi", setting="quick", time_us=4.0))
            rows.append(block(round=r, library="mpich", setting="default", time_us=2.0))
        rows.append(block(library="openmpi", setting="lucky once", time_us=0.1))
        (entry,) = ratios.summarize(rows, "rondo")
        self.assertEqual(entry["libraries"]["openmpi"]["setting"], "quick")
        self.assertEqual(entry["best_peer"], "mpich")
        self.assertEqual(entry["to_best_peer"]["ratio"], 0.5)
        means = ratios.geometric_means([entry])
        self.assertEqual({m["mode"] for m in means}, {"all", "out of place"})
        self.assertAlmostEqual(means[0]["geometric_mean"], 0.5)

    def test_any_library_can_be_the_best_peer_but_for_the_floor_and_slower_ones_that_left_early(self):
        rows = []
        for r in range(21):
            rows += [block(round=r), block(round=r, library="mpich", time_us=3.0), block(round=r, library="gloo", time_us=2.0),
                     block(round=r, library="floor", setting="one-shot", time_us=0.5)]
            if r < 4:
                rows.append(block(round=r, library="intelmpi", setting="shm", time_us=9.5))
            if r < 10:
                rows.append(block(round=r, library="oneccl", time_us=9.6))
        (entry,) = ratios.summarize(rows, "rondo")
        self.assertEqual((entry["best_peer"], entry["to_best_peer"]["ratio"]), ("gloo", 0.5))

    def test_no_slower_peer_stands_for_the_fastest_one_that_was_measured_too_seldom(self):
        for seldom in (4, 10):
            rows = []
            for r in range(21):
                rows += [block(round=r), block(round=r, library="oneccl", time_us=30.0)]
                if r < seldom:
                    rows.append(block(round=r, library="openmpi", time_us=1.5))
            (entry,) = ratios.summarize(rows, "rondo")
            self.assertNotIn("to_best_peer", entry)
            self.assertEqual(ratios.geometric_means([entry]), [])

    def test_types_are_summed_up_apart_and_rows_without_one_are_f32(self):
        rows = []
        for r in range(5):
            rows += [block(round=r, time_us=1.0), block(round=r, type="bf16", time_us=2.0)]
            rows += [block(round=r, library="mpich", time_us=2.0), block(round=r, library="intelmpi", type="bf16", time_us=8.0)]
        summary = ratios.summarize(rows, "rondo")
        self.assertEqual({e["type"]: (e["best_peer"], e["to_best_peer"]["ratio"]) for e in summary},
                         {"f32": ("mpich", 0.5), "bf16": ("intelmpi", 0.25)})
        self.assertEqual({(m["type"], m["mode"]) for m in ratios.geometric_means(summary)},
                         {(element, mode) for element in ("f32", "bf16") for mode in ("all", "out of place")})

    def test_what_a_library_lacks_is_told_once_whatever_its_sizes_and_settings(self):
        lacks = [{"collective": "all_to_all", "type": "f32", "library": "gloo", "setting": setting, "bytes": size, "in_place": True}
                 for setting in ("ring", "bcube") for size in (8, 64)]
        lacks += [{"collective": "reduce", "type": "bf16", "library": "mpich", "setting": "", "bytes": 8, "in_place": placed}
                  for placed in (False, True)]
        self.assertEqual(ratios.lacking(lacks),
                         [{"collective": "all_to_all", "type": "f32", "library": "gloo", "placements": ["in place"]},
                          {"collective": "reduce", "type": "bf16", "library": "mpich", "placements": ["in place", "out of place"]}])

    def test_bus_bandwidth_follows_nccl_tests(self):
        self.assertAlmostEqual(ratios.bus_bandwidth_gbps("all_reduce", 4, 1e9, 1e6), 1.5)
        self.assertAlmostEqual(ratios.bus_bandwidth_gbps("all_gather", 4, 1e9, 1e6), 0.75)
        self.assertAlmostEqual(ratios.bus_bandwidth_gbps("broadcast", 4, 1e9, 1e6), 1.0)
        for collective in ("reduce_scatter", "all_to_all", "gather", "scatter"):
            self.assertAlmostEqual(ratios.bus_bandwidth_gbps(collective, 4, 1e9, 1e6), 0.75)
        for collective in ("scan", "send_recv"):
            self.assertAlmostEqual(ratios.bus_bandwidth_gbps(collective, 4, 1e9, 1e6), 1)


if __name__ == "__main__":
    unittest.main()
