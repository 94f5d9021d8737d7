"""lci_perf: each kind of measurement runs and reports as it says; misuse is told clearly."""

import json
import os
import unittest

from programs import LCIRUN, PERF, run

KEYS = {"op", "metric", "size", "threads", "devices", "comp", "unit", "median", "min", "max",
        "rounds"}
UNITS = {"latency": "ns", "rate": "msg/s", "bandwidth": "MB/s"}
SHORT = ("--rounds", "2", "--iterations", "128", "--no-bind")


def lines(done):
    if done.returncode != 0:
        raise AssertionError(f"exit code {done.returncode}: {done.stdout}{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


class Measuring(unittest.TestCase):
    def check(self, entry, op, metric, size, comp="handler", threads=1, devices="shared",
              rounds=2):
        self.assertTrue(KEYS <= set(entry), entry)
        self.assertEqual((entry["op"], entry["metric"], entry["size"]), (op, metric, size))
        self.assertEqual((entry["comp"], entry["threads"], entry["devices"]),
                         (comp, threads, devices))
        self.assertEqual(entry["unit"], UNITS[metric])
        self.assertEqual(entry["rounds"], rounds)
        self.assertGreater(entry["min"], 0)
        self.assertLessEqual(entry["min"], entry["median"])
        self.assertLessEqual(entry["median"], entry["max"])

    def test_every_operation_metric_and_completion_between_two_ranks(self):
        for op in ("am", "sendrecv"):
            for metric in ("latency", "rate", "bandwidth"):
                for comp in ("handler", "cq", "sync"):
                    with self.subTest(op=op, metric=metric, comp=comp):
                        out = lines(run(LCIRUN, "-n", "2", PERF, op, metric, "--comp", comp,
                                        "--size", "8,3000,100000", "--json", *SHORT))
                        self.assertEqual(len(out), 3)
                        for entry, size in zip(out, (8, 3000, 100000)):
                            self.check(entry, op, metric, size, comp)

    def test_parts_of_the_library_by_themselves(self):
        for metric in ("queue", "matching", "packets"):
            for threads in (1, 3):
                with self.subTest(metric=metric, threads=threads):
                    entry, = lines(run(PERF, "resource", metric, "--threads", str(threads), "--json", *SHORT))
                    self.assertEqual((entry["op"], entry["metric"], entry["unit"], entry["threads"], entry["comp"]),
                                     ("resource", metric, "op/s", threads, "none"))
                    self.assertGreater(entry["min"], 0)

    def test_parts_are_measured_in_one_process(self):
        done = run(LCIRUN, "-n", "2", PERF, "resource", "queue", *SHORT)
        self.assertEqual(done.returncode, 2)
        self.assertIn("it runs on 1", done.stderr)

    def test_one_rank_talks_to_itself(self):
        for op in ("am", "sendrecv"):
            for metric in ("latency", "rate"):
                with self.subTest(op=op, metric=metric):
                    out = lines(run(PERF, op, metric, "--json", *SHORT))
                    self.assertEqual(len(out), 1)
                    self.check(out[0], op, metric, 8)
                    self.assertEqual(out[0]["ranks"], 1)

    def test_one_sided_operations_on_one_rank_and_on_two(self):
        for ranks in ("1", "2"):
            for op, metrics in (("put", UNITS), ("get", UNITS), ("putsignal", UNITS),
                                ("atomic", ("latency", "rate")), ("barrier", ("latency", "rate")),
                                ("strided", ("bandwidth",))):
                for metric in metrics:
                    with self.subTest(ranks=ranks, op=op, metric=metric):
                        sizes = ("--size", "8,3000") if op.startswith(("put", "get")) else ()
                        out = lines(run(LCIRUN, "-n", ranks, PERF, op, metric, *sizes, "--json",
                                        *SHORT))
                        self.assertEqual(len(out), 2 if sizes else 1)
                        for entry, size in zip(out, (2097152,) if op == "strided" else (8, 3000)):
                            self.check(entry, op, metric, size)

    def test_several_threads_on_a_shared_device_or_on_their_own(self):
        for devices in ("shared", "dedicated"):
            for op, comp in (("am", "handler"), ("am", "cq"), ("sendrecv", "sync")):
                with self.subTest(devices=devices, op=op, comp=comp):
                    out = lines(run(LCIRUN, "-n", "2", PERF, op, "rate", "--threads", "2",
                                    "--devices", devices, "--comp", comp, "--json", *SHORT))
                    self.check(out[0], op, "rate", 8, comp, threads=2, devices=devices)

    def test_one_rank_with_several_pairs(self):
        for devices in ("shared", "dedicated"):
            with self.subTest(devices=devices):
                out = lines(run(PERF, "am", "rate", "--threads", "2", "--devices", devices,
                                "--json", *SHORT))
                self.check(out[0], "am", "rate", 8, threads=2, devices=devices)

    def test_messages_as_packets(self):
        for comp in ("cq", "sync"):
            with self.subTest(comp=comp):
                out = lines(run(LCIRUN, "-n", "2", PERF, "am", "rate", "--comp", comp,
                                "--zero-copy", "--size", "8,20000", "--json", *SHORT))
                self.assertEqual([entry["zero_copy"] for entry in out], [True, True])

    def test_a_round_may_be_given_a_length_instead_of_a_count(self):
        out = lines(run(LCIRUN, "-n", "2", PERF, "am", "latency", "--seconds", "0.01", "--rounds",
                        "3", "--json"))
        self.check(out[0], "am", "latency", 8, rounds=3)

    def test_the_window_can_be_as_small_as_four(self):
        out = lines(run(LCIRUN, "-n", "2", PERF, "sendrecv", "rate", "--window", "4", "--json",
                        *SHORT))
        self.assertEqual(out[0]["window"], 4)

    def test_the_table_says_how_it_was_measured(self):
        done = run(LCIRUN, "-n", "2", PERF, "am", "rate", "--comp", "cq", "--rounds", "2",
                   "--iterations", "128")
        self.assertEqual(done.returncode, 0, done.stderr)
        for text in ("# lci_perf am rate", "2 ranks", "window 64", "malloc'ed copies",
                     "rank 0 on core", "median", "msg/s"):
            self.assertIn(text, done.stdout)
        unbound = run(LCIRUN, "-n", "2", PERF, "am", "rate", *SHORT)
        self.assertIn("not bound", unbound.stdout)


class Floor(unittest.TestCase):
    def test_each_limit_of_the_machine_is_measured_without_a_launcher(self):
        cores = len(os.sched_getaffinity(0))
        for metric, unit in (("handoff", "ns"), ("ring64", "msg/s"), ("cma", "MB/s"),
                             ("memcpy", "MB/s"), ("atomic", "ns"), ("strided", "MB/s")):
            if cores < 2 and metric not in ("memcpy", "atomic", "strided"):
                continue
            with self.subTest(metric=metric):
                done = run(PERF, "floor", metric, "--rounds", "2", "--iterations", "1000",
                           "--json")
                if metric == "cma" and "may be forbidden here" in done.stderr:
                    self.skipTest(done.stderr.strip())
                for entry in lines(done):
                    self.assertTrue(KEYS <= set(entry), entry)
                    self.assertEqual((entry["op"], entry["metric"], entry["unit"]),
                                     ("floor", metric, unit))
                    self.assertGreater(entry["min"], 0)
        if cores < 2:
            self.skipTest("limits between two processes need two cores")

    def test_a_ring_may_have_more_slots(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("needs two cores")
        done = run(PERF, "floor", "ring64", "--slots", "1024", "--rounds", "1", "--iterations",
                   "5000")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("ring of 1024 slots", done.stdout)


class Misuse(unittest.TestCase):
    def test_help_is_no_error_and_names_the_options(self):
        done = run(PERF, "--help")
        self.assertEqual(done.returncode, 0)
        for option in ("--size", "--threads", "--devices", "--comp", "--window", "--rounds",
                       "--iterations", "--json", "--no-bind"):
            self.assertIn(option, done.stdout)

    def test_a_bad_command_line_is_refused_with_its_reason(self):
        for arguments, reason in (
                ((), "OP is required"),
                (("am",), "METRIC is required"),
                (("accumulate", "rate"), "accumulate"),
                (("atomic", "bandwidth"), "atomic has no bandwidth"),
                (("barrier", "rate", "--size", "8"), "barrier has one size only"),
                (("put", "rate", "--threads", "2"), "--threads: put"),
                (("am", "speed"), "speed"),
                (("am", "handoff"), "am can't measure handoff"),
                (("floor", "rate"), "floor can't measure rate"),
                (("am", "rate", "--size", "x"), "--size"),
                (("am", "rate", "--size", "0"), "--size: 0"),
                (("am", "rate", "--size", "2147483648"), "1073741824"),
                (("am", "rate", "--threads", "0"), "--threads"),
                (("am", "rate", "--devices", "two"), "--devices"),
                (("am", "rate", "--comp", "counter"), "--comp"),
                (("am", "rate", "--window", "6"), "multiple of 4"),
                (("am", "rate", "--rounds", "0"), "--rounds"),
                (("am", "rate", "--iterations", "0"), "--iterations"),
                (("am", "rate", "--zero-copy"), "--zero-copy"),
                (("sendrecv", "rate", "--comp", "cq", "--zero-copy"), "--zero-copy"),
                (("floor", "ring64", "--slots", "100"), "power of two"),
                (("floor", "handoff", "--size", "8"), "one size only"),
                (("am", "rate", "--windw", "64"), "--windw")):
            with self.subTest(arguments=arguments):
                done = run(PERF, *arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertIn(reason, done.stderr)

    def test_a_wrong_number_of_ranks_is_refused_once_for_all(self):
        done = run(LCIRUN, "-n", "3", PERF, "am", "latency")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("3 ranks", done.stderr)
        self.assertIn("lcirun -n 2 lci_perf am latency", done.stderr)
        self.assertEqual(done.stderr.count("3 ranks"), 1)

    def test_a_bad_variable_of_the_environment_is_named(self):
        done = run(PERF, "am", "rate", LCI_ATTR_PACKET_SIZE="huge")
        self.assertEqual(done.returncode, 1)
        self.assertIn("LCI_ATTR_PACKET_SIZE=huge", done.stderr)


if __name__ == "__main__":
    unittest.main()
