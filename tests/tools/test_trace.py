"""The message trace: valid for viewers, complete, bounded, and only written on request."""

import collections
import json
import os
import pathlib
import tempfile
import unittest

from programs import LCIRUN, run

TRACED = os.environ["TRACED"]
RANKS = 2
ARRIVALS = {"am": {"arrive am", "arrive rts_am", "arrive am_acked"},
            "send": {"arrive send", "arrive rts_send", "arrive send_acked"},
            "signal": {"arrive signal"}}


class Traced(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def traced(self, *arguments, **variables):
        """Runs the program; its trace by rank, and its counters."""
        done = run(LCIRUN, "-n", RANKS, TRACED, *arguments, LCI_TRACE=str(self.folder / "run"),
                   LCI_ATTR_COUNTERS="1", **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        counters = {c["rank"]: c for c in map(json.loads, done.stdout.splitlines())}
        self.assertEqual(set(counters), set(range(RANKS)))
        traces = [json.loads((self.folder / f"run.{r}.json").read_text()) for r in range(RANKS)]
        return traces, counters


class Content(Traced):
    def test_every_event_has_the_fields_that_the_format_requires(self):
        traces, _ = self.traced()
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()),
                         [f"run.{r}.json" for r in range(RANKS)])
        for rank, trace in enumerate(traces):
            self.assertEqual(trace["otherData"], {"rank": rank, "dropped_events": 0})
            seen = collections.Counter()
            for event in trace["traceEvents"]:
                seen[event["ph"]] += 1
                self.assertEqual(event["pid"], rank)
                self.assertIsInstance(event["tid"], int)
                self.assertIsInstance(event["name"], str)
                if event["ph"] == "M":
                    continue
                self.assertGreater(event["ts"], 0)
                if event["ph"] == "X":
                    self.assertGreaterEqual(event["dur"], 0)
            self.assertEqual(set(seen), {"M", "X", "b", "e", "s", "f"})

    def test_traced_posts_and_arrivals_agree_with_counters(self):
        traces, counters = self.traced()
        for kind in ("am", "send"):
            for rank in range(RANKS):
                posts = self.slices(traces[rank], {f"post_{kind}"})
                there = [self.slices(t, ARRIVALS[kind], peer=rank) for t in traces]
                arrived = [e for events in there for e in events]
                self.assertGreater(len(posts), 0)
                self.assertEqual(len(posts), len(arrived), kind)
                self.assertEqual(self.sizes(posts), self.sizes(arrived), kind)
                self.assertEqual(counters[rank][f"{kind}_sent"], [len(posts), sum(self.sizes(posts))])
                here = self.slices(traces[rank], ARRIVALS[kind])
                self.assertEqual(counters[rank][f"{kind}_received"],
                                 [len(here), sum(self.sizes(here))])
        for rank, trace in enumerate(traces):
            for kind in ("recv", "put", "get"):
                posts = self.slices(trace, {f"post_{kind}"})
                self.assertGreater(len(posts), 0)
                self.assertEqual(counters[rank][kind], [len(posts), sum(self.sizes(posts))])
            self.assertEqual(len(self.slices(trace, ARRIVALS["signal"])), 1)
            self.assertEqual(counters[rank]["signal_received"], [1, 1000])

    def test_each_post_is_completed_once(self):
        for trace in self.traced()[0]:
            for kind in ("am", "send", "recv", "put", "get"):
                posted = [e for e in self.slices(trace, {f"post_{kind}"})
                          if e["args"]["status"].startswith("posted")]
                completed = self.slices(trace, {f"complete {kind}"})
                self.assertEqual(self.sizes(posted), self.sizes(completed), kind)
            begins = {e["id"]: e for e in trace["traceEvents"] if e["ph"] == "b"}
            ends = {e["id"]: e for e in trace["traceEvents"] if e["ph"] == "e"}
            self.assertEqual(set(begins), set(ends))
            self.assertGreater(len(begins), 0)
            for key, begin in begins.items():
                self.assertEqual(begin["name"], ends[key]["name"])
                self.assertLessEqual(begin["ts"], ends[key]["ts"])

    def test_messages_arrive_within_progress_and_after_they_were_posted(self):
        traces, _ = self.traced()
        for rank, trace in enumerate(traces):
            progress = self.slices(trace, {"progress"})
            for arrival in self.slices(trace, set().union(*ARRIVALS.values())):
                self.assertTrue(any(self.within(arrival, p) for p in progress), arrival)
        for tag in range(1, 41):
            post = self.slices(traces[0], {"post_am"}, peer=1, tag=tag)
            arrival = self.slices(traces[1], {"arrive am"}, peer=0, tag=tag)
            self.assertEqual((len(post), len(arrival)), (2, 2))
            self.assertLess(min(e["ts"] for e in post), min(e["ts"] for e in arrival))

    def test_flow_events_connect_posts_to_arrivals(self):
        traces, _ = self.traced()
        starts = {}
        for trace in traces:
            for start in (e for e in trace["traceEvents"] if e["ph"] == "s"):
                self.assertNotIn(start["id"], starts)
                starts[start["id"]] = (start, self.slice_at(trace, start, "post"))
        for trace in traces:
            ends = [e for e in trace["traceEvents"] if e["ph"] == "f"]
            self.assertEqual(len({e["id"] for e in ends}), len(ends))
            n_arrows = waited = 0
            for end in ends:
                arrival = self.slice_at(trace, end, "arrival")
                if end["id"] not in starts:  # of a barrier, which has no post
                    self.assertEqual(arrival["name"], "arrive signal")
                    continue
                start, post = starts[end["id"]]
                self.assertLessEqual(start["ts"], end["ts"])
                self.assertEqual(post["pid"], arrival["args"]["peer"])
                self.assertEqual(post["args"]["peer"], arrival["pid"])
                for what in ("size", "tag"):
                    self.assertEqual(post["args"][what], arrival["args"][what])
                waited += post["args"]["status"] == "done_backlog"
                n_arrows += arrival["name"] in ARRIVALS["am"] | ARRIVALS["send"]
            self.assertEqual(n_arrows, len(self.slices(trace, ARRIVALS["am"] | ARRIVALS["send"])))
            self.assertGreaterEqual(waited, 1)  # in the backlog

    def test_ranks_with_and_without_a_trace_communicate(self):
        for traced in range(RANKS):
            parts = [("env", f"LCI_TRACE={self.folder / 'run'}", TRACED) if r == traced else (TRACED,)
                     for r in range(RANKS)]
            done = run(LCIRUN, "-n", "1", *parts[0], ":", "-n", "1", *parts[1], LCI_ATTR_COUNTERS="1")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            counters = sorted(map(json.loads, done.stdout.splitlines()), key=lambda c: c["rank"])
            for one, other in (counters, counters[::-1]):
                for kind in ("am", "send", "signal"):
                    self.assertEqual(one[f"{kind}_sent"], other[f"{kind}_received"])

    def slice_at(self, trace, arrow, category):
        found = [e for e in trace["traceEvents"] if e["ph"] == "X" and e["cat"] == category and
                 e["tid"] == arrow["tid"] and e["ts"] == arrow["ts"]]
        self.assertEqual(len(found), 1)
        return found[0]

    @staticmethod
    def within(inner, outer):
        slack = 0.001  # the rounding of the last digit
        return (inner["tid"] == outer["tid"] and inner["ts"] >= outer["ts"] - slack and
                inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"] + slack)

    @staticmethod
    def slices(trace, names, **args):
        return [e for e in trace["traceEvents"] if e["ph"] == "X" and e["name"] in names and
                all(e["args"][k] == v for k, v in args.items())]

    @staticmethod
    def sizes(events):
        return sorted(e["args"]["size"] for e in events)


class Files(Traced):
    def test_a_full_buffer_keeps_the_latest(self):
        for trace in self.traced(LCI_ATTR_TRACE_EVENTS="16")[0]:
            self.assertGreater(trace["otherData"]["dropped_events"], 20)
            slices = [e for e in trace["traceEvents"] if e["ph"] == "X"]
            self.assertEqual(len(slices), 16)  # of the one thread
            tags = {e["args"]["tag"] for e in slices if "tag" in e["args"]}
            self.assertIn(4242, tags)
            self.assertNotIn(1, {e["args"]["tag"] for e in slices if e["name"] == "post_am"})

    def test_a_second_runtime_of_the_process_does_not_overwrite_the_first(self):
        done = run(LCIRUN, "-n", "1", TRACED, "2", LCI_TRACE=str(self.folder / "run"))
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("run.0.json", "run.0-2.json"):
            self.assertTrue(json.loads((self.folder / name).read_text())["traceEvents"])

    def test_a_path_that_can_not_be_written_is_an_error_at_start(self):
        where = self.folder / "no_such_folder" / "run"
        done = run(LCIRUN, "-n", "1", TRACED, LCI_TRACE=str(where))
        self.assertEqual(done.returncode, 9)
        for word in ("LCI_TRACE", f"{where}.0.json", "No such file"):
            self.assertIn(word, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_without_the_variable_there_is_no_file(self):
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            done = run(LCIRUN, "-n", RANKS, TRACED)
        finally:
            os.chdir(before)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
