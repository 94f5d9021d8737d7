"""The scripts of bench/compare.sh, on figures that were really measured (putsignal.json) and on launches of
small programs."""

import contextlib
import copy
import io
import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import compare
import compare_configs
import compare_distance
import compare_report
import compare_run
import measure
import report
from compare_data import Comparison

MEASURED = json.loads((pathlib.Path(__file__).parent / "putsignal.json").read_text())


def scaled(data, variant, factor):
    out = copy.deepcopy(data)
    for launch in out["launches"]:
        if launch["variant"] == variant:
            for key in ("median", "min", "max"):
                launch[key] *= factor
    return out


class Compare(unittest.TestCase):
    def compare(self, old, new, *options):
        """Exit status and text of compare.py."""
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for name, data in (("old", old), ("new", new)):
                paths.append(str(pathlib.Path(folder) / f"{name}.json"))
                pathlib.Path(paths[-1]).write_text(json.dumps(data))
            text = io.StringIO()
            with mock.patch.object(sys, "argv", ["compare.py", *paths, *options]), \
                    contextlib.redirect_stdout(text), self.assertRaises(SystemExit) as end:
                compare.main()
            return end.exception.code, text.getvalue()

    def test_the_same_figures_are_no_regression(self):
        status, text = self.compare(MEASURED, MEASURED)
        self.assertEqual(status, 0, text)
        self.assertIn("1 judged, 0 regressions", text)

    def test_more_than_the_spread_is_a_regression(self):
        status, text = self.compare(MEASURED, scaled(MEASURED, "putsignal", 100))
        self.assertEqual(status, 1, text)
        self.assertIn("regression", text)

    def test_less_time_is_a_gain(self):
        status, text = self.compare(MEASURED, scaled(MEASURED, "putsignal", 0.01))
        self.assertEqual(status, 0, text)
        self.assertIn("1 gains", text)

    def test_differences_between_launches_are_noise(self):
        values = [launch["median"] for launch in MEASURED["launches"] if launch["variant"] == "putsignal"]
        self.assertGreater(max(values), min(values))
        inside = 1 + (max(values) / min(values) - 1) / 2
        status, text = self.compare(MEASURED, scaled(MEASURED, "putsignal", inside))
        self.assertEqual(status, 0, text)

    def test_a_machine_that_is_slower_for_all_is_no_regression_of_ours(self):
        slower = MEASURED
        for name in MEASURED["figures"]["putsignal"]["variants"]:
            slower = scaled(slower, name, 100)
        self.assertEqual(self.compare(MEASURED, slower)[0], 1)
        status, text = self.compare(MEASURED, slower, "--relative")
        self.assertEqual(status, 0, text)

    def test_peers_are_judged_if_asked_for(self):
        slower = scaled(MEASURED, "UCX", 100)
        self.assertEqual(self.compare(MEASURED, slower)[0], 0)
        self.assertEqual(self.compare(MEASURED, slower, "--peers")[0], 1)

    def test_of_two_launches_nothing_is_said(self):
        few = copy.deepcopy(MEASURED)
        few["launches"] = [launch for launch in few["launches"] if launch["turn"] < 2]
        status, text = self.compare(few, few)
        self.assertEqual(status, 2, text)


class Judge(unittest.TestCase):
    def test_a_rate_is_better_the_higher(self):
        self.assertEqual(compare.judge([10, 11, 12], [5, 6, 7], False, 0.05), "regression")
        self.assertEqual(compare.judge([10, 11, 12], [5, 6, 7], True, 0.05), "gain")

    def test_small_changes_are_let_pass(self):
        self.assertEqual(compare.judge([100, 100.1, 100.2], [103, 103.1, 103.2], True, 0.05), "same")
        self.assertEqual(compare.judge([100, 100.1, 100.2], [103, 103.1, 103.2], True, 0.02), "regression")


class Report(unittest.TestCase):
    def test_the_ratio_is_that_of_launches_of_the_same_turn(self):
        c = Comparison(MEASURED)
        peer = c.best_peer("putsignal", 8)
        medians = {v: c.median("putsignal", v, 8) for v in c.variants("putsignal", ours=False)}
        self.assertEqual(medians[peer], min(medians.values()))
        mine, theirs = c.turns("putsignal", "putsignal", 8), c.turns("putsignal", peer, 8)
        self.assertEqual(c.ratios("putsignal", "putsignal", 8), [mine[t] / theirs[t] for t in (0, 1, 2)])

    def test_all_that_was_measured_or_missed_is_reported(self):
        data = copy.deepcopy(MEASURED)
        data["missing"] = {"libfabric": "apt-get install libfabric-dev; then build again"}
        data["failed"] = [{"turn": 1, "figure": "putsignal", "variant": "MPICH",
                           "why": "not done after 60 s"}]
        text = compare_report.section(Comparison(data))
        for name in MEASURED["figures"]["putsignal"]["variants"]:
            self.assertIn(name, text)
        self.assertIn("Not measured: libfabric (apt-get install libfabric-dev", text)
        self.assertIn("putsignal, MPICH: not done after 60 s (1 of 3 turns)", text)

    def test_plots_are_linked_from_where_the_table_stands(self):
        with tempfile.TemporaryDirectory() as folder:
            figures, results = pathlib.Path(folder) / "a" / "x.json", pathlib.Path(folder) / "b" / "R.md"
            for path in (figures, results):
                path.parent.mkdir()
            figures.write_text(json.dumps(MEASURED))
            (figures.parent / "x-rate.svg").write_text("")
            with mock.patch.object(sys, "argv", ["compare_report.py", str(figures), "--into", str(results)]):
                compare_report.main()
            self.assertIn("![x-rate](../a/x-rate.svg)", results.read_text())
            self.assertIn("Each launch: [x.json](../a/x.json).", results.read_text())

    def test_two_files_make_one_report(self):
        with tempfile.TemporaryDirectory() as folder:
            other = json.loads(json.dumps(MEASURED).replace('"putsignal"', '"another"'))
            paths = [pathlib.Path(folder) / name for name in ("a.json", "b.json")]
            for path, data in zip(paths, (MEASURED, other)):
                path.write_text(json.dumps(data))
            both = Comparison.read(*paths)
        self.assertEqual({key for key, _ in both.figures()}, {"putsignal", "another"})
        self.assertEqual(both.median("another", "UCX", 8), both.median("putsignal", "UCX", 8))

    def test_each_other_machine_has_columns_of_its_own(self):
        others = [json.loads(json.dumps(MEASURED)) for _ in range(2)]
        for other, name in zip(others, ("Another CPU", "A third CPU")):
            other["machine"] |= {"processor": name, "cores": 16}
        text = compare_report.section(Comparison(MEASURED), others=[Comparison(o) for o in others])
        header = next(line for line in text.splitlines() if line.startswith("| what | LCI |"))
        self.assertIn("| LCI's figure, Another CPU, 16 cores, 2026-11-22 | ratio, Another CPU, 16 cores, 2026-11-22 "
                      "| LCI's figure, A third CPU, 16 cores, 2026-11-22 | ratio, A third CPU, 16 cores, 2026-11-22 "
                      "| aim |", header)
        row = text.splitlines()[text.splitlines().index(header) + 2]
        self.assertEqual(row.count("|"), header.count("|"))
        cells = [cell.strip() for cell in row.split("|")]
        # The same figures on all.
        self.assertEqual((cells[4], cells[6]), (cells[7], cells[8]))
        self.assertEqual((cells[4], cells[6]), (cells[9], cells[10]))

    def test_a_figure_that_only_another_machine_has_is_a_row(self):
        other = json.loads(json.dumps(MEASURED).replace('"putsignal"', '"another"'))
        other["figures"]["another"]["title"] = "a figure of many cores"
        rows = list(compare_report.ratio_rows(Comparison(MEASURED), [Comparison(other)]))
        own, elsewhere = rows[0], next(row for row in rows if row[0].startswith("a figure of many cores"))
        self.assertEqual((own[6], own[7]), ("–", "–"))
        self.assertEqual(elsewhere[3:6], ("–", "–", "–"))
        self.assertEqual((elsewhere[6], elsewhere[7]), (own[3], own[5]))

    def test_a_machine_is_described_with_its_caches_and_hand_off(self):
        m = {"processor": "A CPU", "cores": 4, "memory_gib": 8, "kernel": "6", "caches": "L1 32K, L2 1024K",
             "handoff_ns": {"median": 90, "min": 60, "max": 250}}
        self.assertEqual(measure.described(m),
                         "A CPU, 4 cores (L1 32K, L2 1024K), hand-off 90 ns [60–250], 8 GiB, Linux 6")
        for name in ("caches", "handoff_ns"):  # files of before
            del m[name]
        self.assertEqual(measure.described(m), "A CPU, 4 cores, 8 GiB, Linux 6")

    def test_a_section_takes_the_place_of_the_old_one(self):
        section = compare_report.section(Comparison(MEASURED))
        once = compare_report.put_into("# Results\n\nfirst\n", section)
        self.assertTrue(once.startswith("# Results\n\nfirst\n\n"))
        self.assertEqual(compare_report.put_into(once, section), once)
        self.assertEqual(compare_report.section_of(once), section)

    def test_a_new_report_keeps_the_sections_of_other_scripts_and_authors(self):
        others = (compare_report.section(Comparison(MEASURED)) +
                  "\n\n<!-- written by bench/armci/armci.py -->\n## ARMCI\n"
                  "<!-- end of bench/armci/armci.py -->\n\n## Function shipping\n\n40 ns\n")
        with tempfile.TemporaryDirectory() as folder:
            figures, results = (pathlib.Path(folder) / name for name in ("figures.json", "results.md"))
            figures.write_text("{}")
            for text in ("first", "second", "third"):
                own = f"# Results\n\n## All others\n\n{text}\n"
                with mock.patch.object(sys, "argv", ["report.py", str(figures), "-o", str(results)]), \
                        mock.patch.object(report, "report", return_value=own):
                    report.main()
                if text == "first":
                    self.assertEqual(results.read_text(), own)
                    results.write_text(f"{own}\n{others}")
                self.assertEqual(results.read_text(), f"{own}\n{others}")


def variant(name, library, script, **more):
    return compare_configs.Variant(name, library, ("sh", "-c", script), **more)


LINE = """echo '{"size": 8, "median": 2.0, "min": 1.0, "max": 3.0, "op": "am"}'"""


class Run(unittest.TestCase):
    def run_turns(self, *variants, repeat=3, missing=()):
        figure = compare_configs.Figure("f", "a figure", "ns", variants)
        return compare_run.run([figure], repeat, compare_run.Launcher(attempts=1), missing, lambda text: None)

    def test_configurations_are_launched_in_turns(self):
        launches, failed = self.run_turns(variant("a", "lci", LINE), variant("b", "ucx", LINE))
        self.assertEqual([(r["turn"], r["variant"]) for r in launches],
                         [(turn, name) for turn in (0, 1, 2) for name in "ab"])
        self.assertEqual((launches[0]["size"], launches[0]["median"]), (8, 2.0))
        self.assertEqual(failed, [])

    def test_a_peer_that_fails_twice_is_reported_and_not_launched_again(self):
        broken = variant("b", "ucx", "echo broken >&2; exit 3")
        launches, failed = self.run_turns(variant("a", "lci", LINE), broken, repeat=4)
        self.assertEqual(len(launches), 4)
        self.assertEqual([(f["variant"], f["why"]) for f in failed], [("b", "exit status 3: broken")] * 2)

    def test_a_peer_that_hangs_is_reported(self):
        with mock.patch.object(compare_run, "PATIENCE", 0.2):
            _, failed = self.run_turns(variant("a", "ucx", "exec sleep 30"), repeat=1)
        self.assertEqual(failed[0]["why"], "not done after 0.2 s")

    def test_a_launcher_that_complains_of_the_end_may(self):
        launches, failed = self.run_turns(variant("a", "openshmem", LINE + "; exit 1", any_status=True),
                                          repeat=1)
        self.assertEqual((len(launches), failed), (1, []))

    def test_a_peer_that_is_missing_is_not_launched(self):
        launches, failed = self.run_turns(variant("a", "ucx", "exit 1"), missing={"ucx": "install it"})
        self.assertEqual((launches, failed), ([], []))

    def test_the_environment_of_a_configuration_is_its_own(self):
        script = """echo "{\\"size\\": $SIZE_FOR_TEST, \\"median\\": 1, \\"min\\": 1, \\"max\\": 1}\""""
        launches, _ = self.run_turns(variant("a", "lci", script, environment={"SIZE_FOR_TEST": "64"}),
                                     repeat=1)
        self.assertEqual(launches[0]["size"], 64)


class Cores:
    """A distance whose hand-offs take what is said, one after the other."""

    def __init__(self, *handoffs_ns):
        self.left = list(handoffs_ns)
        self.distance = compare_distance.Distance("perf")
        self.distance.handoff_ns = lambda: self.left.pop(0)


class Distances(unittest.TestCase):
    def launched(self, cores):
        """What a launcher counts that launches once: repeated, and kept all the same."""
        # Whoever else is busy here does not count.
        with mock.patch.object(compare_distance, "PAUSE", 0), mock.patch.object(measure, "OTHERS_BUSY", 1000):
            launch = compare_run.Launcher(attempts=2, distance=cores.distance)
            launch(variant("a", "lci", LINE))
        return launch.disturbed, launch.kept_disturbed

    def test_a_launch_begins_and_ends_with_near_cores(self):
        cores = Cores(60, 70)
        self.assertEqual(self.launched(cores), (0, 0))
        self.assertEqual(cores.left, [])

    def test_a_launch_waits_for_near_cores(self):
        cores = Cores(60, 250, 260, 30, 60)
        self.assertTrue(cores.distance.are_near())
        self.assertEqual(self.launched(cores), (0, 0))
        self.assertEqual(cores.left, [])

    def test_a_launch_behind_which_cores_are_apart_is_repeated_at_most_so_often(self):
        self.assertEqual(self.launched(Cores(60, 250, 60, 60)), (1, 0))
        self.assertEqual(self.launched(Cores(60, 250, 60, 250)), (1, 1))

    def test_cores_that_stay_apart_are_not_waited_for_for_ever(self):
        cores = Cores(60, *[250] * 100)
        cores.distance.are_near()
        cores.distance.wait_until_near(patience=0)
        self.assertEqual(len(cores.left), 99)


class Configurations(unittest.TestCase):
    def test_every_figure_has_ours_and_peers_under_names_of_their_own(self):
        figures = compare_configs.figures(pathlib.Path("build"), ("--json",))
        self.assertEqual(len({f.key for f in figures}), len(figures))
        for f in figures:
            with self.subTest(figure=f.key):
                self.assertTrue(f.ours())
                self.assertEqual(bool(f.peers()), not f.key.startswith("resources-"))
                self.assertEqual(len({v.name for v in f.variants}), len(f.variants))
                self.assertLessEqual({v.library for v in f.peers()},
                                     {*compare_configs.PACKAGES, compare_configs.OWN_PROCESSES})

    def test_threads_double_up_to_the_cores_and_have_cores_of_their_own_where_these_suffice(self):
        self.assertEqual([compare_configs.thread_counts(n) for n in (1, 2, 6, 16)],
                         [[1, 2], [2], [2, 4, 6], [2, 4, 8, 16]])
        self.assertEqual([compare_configs.binding(n, 16) for n in (2, 8, 16)], ["pack", "pack", "cross"])
        self.assertEqual(compare_configs.binding(2, 2), "cross")


if __name__ == "__main__":
    unittest.main()
