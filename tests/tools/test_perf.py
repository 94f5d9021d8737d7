"""lci_perf: each kind of measurement runs and prints its results; misuse is refused with the reason."""

import collections
import csv
import io
import json
import os
import pathlib
import tempfile
import unittest

from programs import LCIRUN, PERF, run

KEYS = {"op", "metric", "size", "threads", "devices", "comp", "unit", "median", "min", "max",
        "rounds"}
UNITS = {"latency": "ns", "rate": "msg/s", "bandwidth": "MB/s"}
ALL_UNITS = {**UNITS, "bidirectional": "MB/s"}
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
        self.assertEqual(entry["unit"], ALL_UNITS[metric])
        self.assertEqual(entry["rounds"], rounds)
        self.assertGreater(entry["min"], 0)
        self.assertLessEqual(entry["min"], entry["median"])
        self.assertLessEqual(entry["median"], entry["max"])

    def test_every_operation_metric_and_completion_between_two_ranks(self):
        for op in ("am", "orderedam", "putsignal", "getsignal", "sendrecv"):
            for metric in ("latency", "rate", "bandwidth"):
                for comp in ("handler", "cq", "sync"):
                    with self.subTest(op=op, metric=metric, comp=comp):
                        out = lines(run(LCIRUN, "-n", "2", PERF, op, metric, "--comp", comp,
                                        "--size", "8,3000,100000", "--json", *SHORT))
                        self.assertEqual(len(out), 3)
                        for entry, size in zip(out, (8, 3000, 100000)):
                            self.check(entry, op, metric, size, comp)

    def test_one_rank_communicates_with_itself(self):
        for op in ("am", "orderedam", "putsignal", "getsignal", "sendrecv"):
            for metric in ("latency", "rate"):
                with self.subTest(op=op, metric=metric):
                    out = lines(run(PERF, op, metric, "--json", *SHORT))
                    self.assertEqual(len(out), 1)
                    self.check(out[0], op, metric, 8)
                    self.assertEqual(out[0]["ranks"], 1)

    def test_one_sided_operations_on_one_rank_and_on_two(self):
        for ranks in ("1", "2"):
            for op, metrics in (("put", UNITS), ("get", UNITS), ("atomic", ("latency", "rate")),
                                ("swap", ("latency",)), ("cas", ("rate",)),
                                ("barrier", ("latency", "rate")), ("allreduce", ("latency", "rate")),
                                ("strided", ("bandwidth",)), ("stridedget", ("bandwidth",))):
                for metric in metrics:
                    with self.subTest(ranks=ranks, op=op, metric=metric):
                        sizes = ("--size", "8,3200") if op in ("put", "get", "allreduce") else ()
                        out = lines(run(LCIRUN, "-n", ranks, PERF, op, metric, *sizes, "--json",
                                        *SHORT))
                        self.assertEqual(len(out), 2 if sizes else 1)
                        for entry, size in zip(out, (2097152,) if op.startswith("strided") else (8, 3200)):
                            self.check(entry, op, metric, size)

    def test_one_sided_operations_by_several_threads(self):
        for devices in ("shared", "dedicated"):
            for op in ("put", "get", "atomic", "cas") + (("barrier",) if devices == "dedicated" else ()):
                with self.subTest(devices=devices, op=op):
                    out = lines(run(LCIRUN, "-n", "2", PERF, op, "rate", "--threads", "2",
                                    "--devices", devices, "--json", *SHORT))
                    self.check(out[0], op, "rate", 8, threads=2, devices=devices)

    def test_several_threads_on_a_shared_device_or_on_their_own(self):
        for devices in ("shared", "dedicated"):
            for op, comp in (("am", "handler"), ("am", "cq"), ("orderedam", "handler"), ("putsignal", "handler"),
                             ("getsignal", "cq"), ("sendrecv", "sync")):
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

    def test_both_directions_at_once(self):
        for op, comp in (("am", "handler"), ("am", "cq"), ("orderedam", "sync"), ("sendrecv", "handler"),
                         ("sendrecv", "sync"), ("putsignal", "counter"), ("put", "handler"),
                         ("stridedget", "handler")):
            with self.subTest(op=op, comp=comp):
                sizes = () if op == "stridedget" else ("--size", "8,100000")
                out = lines(run(LCIRUN, "-n", "2", PERF, op, "bidirectional", "--comp", comp, *sizes,
                                "--json", *SHORT))
                for entry, size in zip(out, (8, 100000) if sizes else (2097152,)):
                    self.check(entry, op, "bidirectional", size, comp)

    def test_operations_without_payload_are_measured_with_counters(self):
        for ranks in ("1", "2"):
            for op in ("sendrecv", "putsignal", "getsignal"):
                for metric in ("latency", "rate"):
                    with self.subTest(ranks=ranks, op=op, metric=metric):
                        out = lines(run(LCIRUN, "-n", ranks, PERF, op, metric, "--comp", "counter",
                                        "--size", "8,100000", "--json", *SHORT))
                        self.check(out[1], op, metric, 100000, "counter")

    def test_pairs_of_processes_are_measured_together(self):
        for ranks, op, metric in (("2", "am", "latency"), ("4", "am", "rate"), ("4", "sendrecv", "rate"),
                                  ("4", "getsignal", "rate"), ("4", "put", "rate"), ("4", "cas", "latency"),
                                  ("4", "am", "bidirectional")):
            with self.subTest(ranks=ranks, op=op, metric=metric):
                sizes = () if op == "cas" else ("--size", "8")
                out = lines(run(LCIRUN, "-n", ranks, PERF, op, metric, "--processes", *sizes, "--json",
                                *SHORT))
                self.check(out[0], op, metric, 8)
                self.assertEqual((out[0]["ranks"], out[0]["mode"]), (int(ranks), "processes"))

    def test_collectives_run_on_any_number_of_ranks(self):
        for op in ("barrier", "allreduce"):
            with self.subTest(op=op):
                out = lines(run(LCIRUN, "-n", "3", PERF, op, "latency", "--json", *SHORT))
                self.check(out[0], op, "latency", 8)
                self.assertEqual(out[0]["ranks"], 3)

    def test_percentiles_are_those_of_single_round_trips(self):
        for op in ("am", "sendrecv", "putsignal"):
            with self.subTest(op=op):
                entry = lines(run(LCIRUN, "-n", "2", PERF, op, "latency", "--percentiles", "--json",
                                  *SHORT))[0]
                values = [entry[key] for key in ("p50", "p90", "p99", "p99.9", "longest")]
                self.assertEqual(values, sorted(values))
                self.assertGreater(values[0], 0)
                # The mean of a round is below the longest round trip.
                self.assertLess(entry["min"], values[-1])

    def test_values_can_be_separated_by_commas(self):
        done = run(LCIRUN, "-n", "2", PERF, "am", "rate", "--size", "8,64", "--csv", *SHORT)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        self.assertEqual([(row["op"], row["size"], row["unit"]) for row in rows],
                         [("am", "8", "msg/s"), ("am", "64", "msg/s")])
        self.assertTrue(KEYS <= set(rows[0]))
        self.assertGreater(float(rows[1]["median"]), 0)

    def test_messages_can_be_posted_as_packets(self):
        for comp in ("cq", "sync"):
            with self.subTest(comp=comp):
                out = lines(run(LCIRUN, "-n", "2", PERF, "am", "rate", "--comp", comp,
                                "--zero-copy", "--size", "8,20000", "--json", *SHORT))
                self.assertEqual([entry["zero_copy"] for entry in out], [True, True])

    def test_a_round_can_have_a_duration_instead_of_a_count(self):
        out = lines(run(LCIRUN, "-n", "2", PERF, "am", "latency", "--seconds", "0.01", "--rounds",
                        "3", "--json"))
        self.check(out[0], "am", "latency", 8, rounds=3)

    def test_the_window_can_be_as_small_as_four(self):
        out = lines(run(LCIRUN, "-n", "2", PERF, "sendrecv", "rate", "--window", "4", "--json",
                        *SHORT))
        self.assertEqual(out[0]["window"], 4)

    def test_the_table_has_the_settings_of_the_measurement(self):
        done = run(LCIRUN, "-n", "2", PERF, "am", "rate", "--comp", "cq", "--rounds", "2",
                   "--iterations", "128")
        self.assertEqual(done.returncode, 0, done.stderr)
        for text in ("# lci_perf am rate", "2 ranks", "window 64", "malloc'ed copies",
                     "rank 0 on core", "median", "msg/s"):
            self.assertIn(text, done.stdout)
        unbound = run(LCIRUN, "-n", "2", PERF, "am", "rate", *SHORT)
        self.assertIn("not bound", unbound.stdout)


class LargeMessages(unittest.TestCase):
    """Which protocol is the faster one is measured, and depends on the machine and its load: it is given here."""

    def arrivals(self, op, protocol):
        with tempfile.TemporaryDirectory() as folder:
            lines(run(LCIRUN, "-n", "2", PERF, op, "bandwidth", "--size", "65536", "--rounds", "2", "--iterations",
                      "1024", "--no-bind", "--json", LCI_TRACE=os.path.join(folder, "run"),
                      LCI_ATTR_RDV_PROTOCOL=protocol))
            trace = json.loads(pathlib.Path(folder, "run.1.json").read_text())
        return collections.Counter(e["name"] for e in trace["traceEvents"])

    def test_a_trace_shows_fragments_only_of_messages_that_the_sender_copies(self):
        for op in ("am", "sendrecv"):
            with self.subTest(op=op):
                self.assertGreater(self.arrivals(op, "copy")["arrive fragment"], 0)
                self.assertEqual(self.arrivals(op, "read")["arrive fragment"], 0)


class Resource(unittest.TestCase):
    def test_each_resource_is_measured_with_one_thread_and_several(self):
        for metric in ("cq", "matching", "packet", "registration", "atomic", "ownatomic", "lockedqueue",
                       "malloc"):
            for threads in (1, 3):
                with self.subTest(metric=metric, threads=threads):
                    entry = lines(run(PERF, "resource", metric, "--threads", str(threads), "--json",
                                      *SHORT))[0]
                    self.assertTrue(KEYS <= set(entry), entry)
                    self.assertEqual((entry["op"], entry["metric"], entry["threads"], entry["unit"]),
                                     ("resource", metric, threads, "op/s"))
                    self.assertGreater(entry["min"], 0)

    def test_the_table_says_whether_there_is_a_cache(self):
        done = run(PERF, "resource", "registration", "--reg-cache", *SHORT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, "with a cache")

    def test_more_ranks_are_refused(self):
        done = run(LCIRUN, "-n", "2", PERF, "resource", "cq")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("2 ranks; it is about threads of one", done.stderr)


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
    def test_help_exits_with_0_and_names_the_options(self):
        done = run(PERF, "--help")
        self.assertEqual(done.returncode, 0)
        for option in ("--size", "--threads", "--devices", "--comp", "--window", "--rounds",
                       "--iterations", "--json", "--no-bind", "--csv", "--percentiles", "--processes",
                       "orderedam", "lockedqueue"):
            self.assertIn(option, done.stdout)

    def test_an_invalid_command_line_is_refused_with_the_reason(self):
        for arguments, reason in (
                ((), "OP is required"),
                (("am",), "METRIC is required"),
                (("accumulate", "rate"), "accumulate"),
                (("atomic", "bandwidth"), "atomic has no bandwidth"),
                (("barrier", "rate", "--size", "8"), "barrier has one size only"),
                (("allreduce", "rate", "--size", "12"), "not a number of doubles"),
                (("barrier", "rate", "--threads", "2"), "needs --devices dedicated"),
                (("put", "rate", "--comp", "cq"), "there is no notification of put"),
                (("am", "speed"), "speed"),
                (("am", "handoff"), "am can't measure handoff"),
                (("floor", "rate"), "floor can't measure rate"),
                (("am", "rate", "--size", "x"), "--size"),
                (("am", "rate", "--size", "0"), "--size: 0"),
                (("am", "rate", "--size", "2147483648"), "1073741824"),
                (("am", "rate", "--threads", "0"), "--threads"),
                (("am", "rate", "--devices", "two"), "--devices"),
                (("am", "rate", "--comp", "counter"), "a counter provides no payload"),
                (("am", "rate", "--percentiles"), "--percentiles"),
                (("put", "latency", "--percentiles"), "--percentiles"),
                (("am", "rate", "--json", "--csv"), "--csv"),
                (("am", "rate", "--processes", "--threads", "2"), "--processes: each has one thread"),
                (("barrier", "rate", "--processes"), "barrier has no pairs"),
                (("am", "rate", "--reg-cache"), "--reg-cache"),
                (("am", "cq"), "am can't measure cq"),
                (("resource", "handoff"), "resource can't measure handoff"),
                (("resource", "cq", "--size", "8"), "cq has no size"),
                (("cas", "bidirectional"), "cas has no bandwidth"),
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

    def test_a_wrong_number_of_ranks_is_refused_by_one_message(self):
        done = run(LCIRUN, "-n", "3", PERF, "am", "latency")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("3 ranks", done.stderr)
        self.assertIn("lcirun -n 2 lci_perf am latency", done.stderr)
        self.assertEqual(done.stderr.count("3 ranks"), 1)
        odd = run(LCIRUN, "-n", "3", PERF, "am", "rate", "--processes")
        self.assertNotEqual(odd.returncode, 0)
        self.assertIn("an even number", odd.stderr)
        alone = run(PERF, "put", "bidirectional")
        self.assertEqual(alone.returncode, 2)
        self.assertIn("both directions need 2", alone.stderr)

    def test_an_invalid_environment_variable_is_named(self):
        done = run(PERF, "am", "rate", LCI_ATTR_PACKET_SIZE="huge")
        self.assertEqual(done.returncode, 1)
        self.assertIn("LCI_ATTR_PACKET_SIZE=huge", done.stderr)


if __name__ == "__main__":
    unittest.main()
