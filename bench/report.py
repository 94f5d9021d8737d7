#!/usr/bin/env python3
"""Turns the figures of bench/measure.py into Markdown.

    python3 bench/report.py [FIGURES.json] [-o bench/RESULTS.md]
    python3 bench/report.py --instructions build/release/tests/perf/count -o bench/RESULTS.md

Without -o the text goes to standard output. With -o the sections of the file that other scripts or
authors have written below those of this script remain. Every figure is the median of the launches' medians
(in brackets the smallest and the largest of them); a ratio is the median of the ratios to the
launch of the limit right before. With --instructions only these are counted, and replaced in the
file: they do not depend on the machine's speed.
"""

import argparse
import json
import pathlib
import re
import statistics
import sys

import measure

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Title, LCI's figure, its size, the limit, its size.
RATIOS = (
    ("am latency, handler", "am latency handler", 8, "handoff", 8),
    ("am latency, completion queue", "am latency cq", 8, "handoff", 8),
    ("sendrecv latency", "sendrecv latency", 8, "handoff", 8),
    ("am rate, handler", "am rate handler", 8, "ring64", 56),
    ("am rate, completion queue", "am rate cq", 8, "ring64", 56),
    ("sendrecv rate", "sendrecv rate", 8, "ring64", 56),
    ("am rate, handler, window 1024", "am rate handler window 1024", 8, "ring64 of 1024", 56),
    ("sendrecv bandwidth, 64 KiB", "sendrecv bandwidth", 65536, "cma", 65536),
    ("sendrecv bandwidth, 1 MiB", "sendrecv bandwidth", 1048576, "cma", 1048576),
    ("put rate, shared memory", "put rate", 8, "ring64", 56),
    ("get rate, shared memory", "get rate", 8, "ring64", 56),
    ("put latency, shared memory", "put latency", 8, "handoff", 8),
    ("get latency, shared memory", "get latency", 8, "handoff", 8),
    ("put with signal, one way", "putsignal latency", 8, "handoff", 8),
    ("barrier of 2 ranks", "barrier latency", 8, "handoff", 8),
    ("64-bit fetch-and-add", "atomic latency", 8, "atomic", 8),
    ("strided put, 512 x 512 doubles", "strided bandwidth", 2097152, "strided", 2097152),
)
LIMITS = {
    "handoff": "a cache line to the other core and one back, one way",
    "ring64": "plain ring, 64 slots of 64 bytes",
    "ring64 of 1024": "plain ring, 1024 slots of 64 bytes",
    "cma": "process_vm_readv",
    "memcpy": "memcpy within a process",
    "atomic": "fetch-and-add on a word in the cache",
    "strided": "the same copy, a memcpy a row",
}
# Parts of tests/perf that are shown, and their targets.
INSTRUCTIONS = (
    ("post_am", "instructions to post an 8-byte active message", " (at most 200)"),
    ("progress_am_16", "instructions to deliver it to its handler, of 16 found by a progress call",
     " (at most 150)"),
    ("progress_am", "the same, the only one that a progress call finds", ""),
)


def human(value, unit):
    """Three or four digits: 145 ns, 61.3M msg/s, 24446 MB/s."""
    if unit == "msg/s":
        return f"{value / 1e6:.3g}M msg/s" if value >= 1e6 else f"{value / 1e3:.0f}k msg/s"
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


class Figures:
    def __init__(self, data):
        self.data = data

    def entry(self, name, size):
        return self.data["launches"].get(name, {}).get(str(size))

    def text(self, name, size):
        entry = self.entry(name, size)
        return self.spread(entry["medians"], entry["unit"]) if entry else "not measured"

    def limit_text(self, name, size, limit, limit_size):
        """The limit that was measured together with the figure, or by its own launches."""
        entry = self.entry(name, size)
        return (self.spread(entry["limits"], entry["unit"]) if entry.get("limits")
                else self.text(limit, limit_size))

    @staticmethod
    def spread(values, unit):
        low, high = (human(v, unit).split(" ")[0] for v in (min(values), max(values)))
        return f"**{human(statistics.median(values), unit)}** [{low}–{high}]"


def rows(header, body):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(row) + " |" for row in body]


def ratio_rows(f):
    body = []
    for title, name, size, limit, limit_size in RATIOS:
        entry = f.entry(name, size)
        if not entry:
            continue
        ratios = entry["ratios"]
        body.append((title, f.text(name, size), f"{f.limit_text(name, size, limit, limit_size)} {LIMITS[limit]}",
                     f"**{statistics.median(ratios):.2f}** [{min(ratios):.2f}–{max(ratios):.2f}]"))
    return rows(("what", "LCI", "limit of the machine", "ratio"), body)


def single_rows(f):
    body = []
    data = f.data
    counted = data.get("instructions")
    if counted:
        body += [(title, f"**{counted[part]:.0f}**{bound}")
                 for part, title, bound in INSTRUCTIONS]
    if data["starts"]:
        last = [max(r["message_ms"] for r in start) for start in data["starts"]]
        memory = [max(r["rss_kb"] for r in start) for start in data["starts"]]
        before = [max(r["rss_before_kb"] for r in start) for start in data["starts"]]
        body.append(("start of 2 ranks: launcher's exec to the first message",
                     f"**{statistics.median(last):.1f} ms** [{min(last):.1f}–{max(last):.1f}]"))
        body.append(("resident memory of a rank after start",
                     f"**{statistics.median(memory):.0f} kB** (before: "
                     f"{statistics.median(before):.0f} kB)"))
    if "build_seconds" in data:
        body.append(("clean build of everything, tests included",
                     f"**{data['build_seconds']:.0f} s** on {data['machine']['cores']} cores"))
    return rows(("what", "figure"), body)


def other_rows(f):
    shown = {pair for _, name, size, limit, limit_size in RATIOS
             for pair in ((name, size), (limit, limit_size))}
    body = []
    for name, sizes in f.data["launches"].items():
        for size in sizes:
            if (name, int(size)) not in shown:
                label = name + (f": {LIMITS[name]}" if name in LIMITS else "")
                body.append((label, size, f.text(name, size)))
    return rows(("what", "bytes", "figure"), body)


def counter():
    sys.path.insert(0, str(ROOT / "tests" / "perf"))
    import count  # here, since only needed if there is something to show
    return count


def instruction_rows(counted):
    return rows(("instructions a message", "count"),
                [(what, f"{counted[p]:.0f}") for p, (what, _) in counter().PARTS.items()])


def with_instructions(text, counted):
    """The report with these numbers of instructions in place of its own."""
    for part, title, bound in INSTRUCTIONS:
        text, n = re.subn(rf"^\| {re.escape(title)} \|.*$", f"| {title} | **{counted[part]:.0f}**{bound} |", text,
                          flags=re.MULTILINE)
        if n != 1:
            raise ValueError(f"the report has {n} rows '{title}', expected one")
    begin = text.index("## Instructions\n")
    end = text.index("\n## ", begin)
    return text[:begin] + "\n".join(["## Instructions", "", *instruction_rows(counted), ""]) + text[end:]


def report(data):
    f, m = Figures(data), data["machine"]
    lines = [
        "# Results", "",
        "Written by `python3 bench/report.py`; measured by", "",
        "```sh", data["command"].strip(), "```", "",
        f"Machine: {measure.described(m)}, {m['compiler']}.",
        f"Each configuration was launched {data['repeat']} times, in turns with all others, each "
        "limit right before what is compared with it; figures and ratios are **medians** of the "
        "launches [smallest–largest]; of a latency a launch gives the median of many short rounds, each "
        "right behind a hand-off between the same processes. Ranks are bound to different "
        f"cores. {data['disturbed']['repeated']} launches were repeated because other processes "
        f"were busy; {data['disturbed']['kept']} had to be kept all the same.", "",
        "## Against the limits of the machine", "",
        *ratio_rows(f), "",
        "Latency and rate: 8-byte messages between two processes; window 64 where not said "
        "otherwise. Latency is better the lower its ratio, the others the higher.", "",
        "## Single figures", "",
        *single_rows(f), ""]
    if data.get("instructions"):
        lines += ["## Instructions", "", *instruction_rows(data["instructions"]), ""]
    lines += [LAST, "", *other_rows(f), "",
              "`2 threads`: each of the two ranks has two threads, on different cores; the two "
              "ranks share both cores. `1 process`: one rank whose two threads talk to each other.",
              ""]
    return "\n".join(lines)


LAST = "## All others"


def of_others(text):
    """What a file has below this script's own sections."""
    below = text.partition(f"\n{LAST}\n")[2]
    begin = re.search(r"^(## |<!--)", below, flags=re.MULTILINE)
    return below[begin.start():] if begin else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", type=pathlib.Path, nargs="?",
                        default=ROOT / "build" / "release" / "figures.json")
    parser.add_argument("-o", "--output", type=pathlib.Path)
    parser.add_argument("--instructions", metavar="COUNT", help="the built tests/perf/count; needs -o")
    args = parser.parse_args()
    if args.instructions:
        if args.output is None:
            parser.error("--instructions needs -o")
        args.output.write_text(with_instructions(args.output.read_text(), counter().count(args.instructions)))
        return
    if not args.figures.exists():
        parser.error(f"{args.figures} is not there; measure first: python3 bench/measure.py")
    text = report(json.loads(args.figures.read_text()))
    if args.output:
        kept = of_others(args.output.read_text()) if args.output.exists() else ""
        args.output.write_text(f"{text}\n{kept}" if kept else text)
    else:
        print(text)


if __name__ == "__main__":
    main()
