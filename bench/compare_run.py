#!/usr/bin/env python3
"""Launches LCI and its peers in turns and writes their output as JSON.

    python3 bench/compare_run.py [--repeat 5] [--quick] [--only NAME].. -o FILE.json

bash bench/compare.sh installs, builds, calls this and draws. A figure's configurations are launched
right after each other (A B C A B C ...); each binds its own processes and threads. A launch is repeated, at
most a few times, if other processes were busy during it, or if the cores were far apart before or after it,
as those of a virtual machine may be for a moment (compare_distance.py). The last attempt is stored.
"""

import argparse
import collections
import datetime
import json
import os
import pathlib
import platform
import signal
import subprocess
import sys
import time

import compare_configs
import measure
from compare_distance import Distance

PATIENCE = 60  # limit in seconds of a launch: some peers hang now and then
CHANCES = 2    # failures after which a configuration is skipped


def output_of(command, environment):
    """Runs a job to its end: the ended process, and the text of its output and of its errors."""
    # A process group of its own, so that a hanging launch is ended with all its processes.
    with subprocess.Popen(command, env=environment, text=True, errors="replace", stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, start_new_session=True) as job:
        try:
            return job, *job.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            raise RuntimeError(f"not done after {PATIENCE} s") from None


class Launcher(measure.Launcher):
    """Launches variants; RuntimeError gives the reason if one fails. `distance`: None if cores may be anywhere."""

    def __init__(self, attempts=measure.ATTEMPTS, distance=None):
        super().__init__(attempts)
        self.distance = distance

    def settle(self):
        if self.distance:
            self.distance.wait_until_near()

    def is_settled(self):
        return not self.distance or self.distance.are_near()

    def once(self, variant):
        environment = {**self.environment, **variant.environment,
                       "START_TIME_NS": str(time.clock_gettime_ns(time.CLOCK_MONOTONIC))}
        job, out, errors = output_of(variant.command, environment)
        lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        if job.returncode != 0 and not (variant.any_status and lines):
            said = [line for line in (errors + out).splitlines() if line.strip("- ")]
            raise RuntimeError(f"exit status {job.returncode}" + (f": {said[-1][:200]}" if said else ""))
        if not lines:
            raise RuntimeError("printed no figures")
        return lines


def figures_of(figure, lines):
    """One entry for each size that a launch measured."""
    if figure.field:  # a start: the value of the slowest process
        value = max(line[figure.field] for line in lines)
        return [{"size": 0, "median": value, "min": value, "max": value}]
    return [{key: line[key] for key in ("size", "median", "min", "max")} for line in lines]


def describe(figure):
    """The properties of a figure that the report needs, independent of this code."""
    def written(v):
        """The command as typed in the root of the tree."""
        words = [*(f"{k}={x}" for k, x in v.environment.items()), *v.command]
        return " ".join(words).replace(str(measure.ROOT) + "/", "")

    return {"title": figure.title, "unit": figure.unit, "shown": list(figure.shown), "plot": figure.plot,
            "aim": figure.aim, "lower_is_better": figure.lower_is_better,
            "variants": {v.name: {"library": v.library, "ours": v.library == "lci", "command": written(v)}
                         for v in figure.variants}}


def versions():
    """Package versions of the peers that are installed."""
    out = {}
    for peer, packages in compare_configs.PACKAGES.items():
        lines = measure.output_of("dpkg-query", "-W", "-f=${Version}\\n", packages.split()[-1])
        if lines:
            out[peer] = lines.split()[0]   # a line for each architecture; dpkg keeps their versions equal
    return {"lci": measure.output_of("git", "-C", str(measure.ROOT), "describe", "--always", "--dirty") or "unknown",
            **out}


def missing_peers(build):
    """Peers whose program is missing, and how to get it."""
    return {peer: f"apt-get install {packages}; then build again"
            for peer, packages in compare_configs.PACKAGES.items()
            if not (build / "bench" / "peers" / f"peer_{peer}").exists()}


def run(figures, repeat, launch, missing, tell):
    """Launches in turns, until all is measured or the user interrupts. Returns the launches, and which failed and
    why."""
    launches, failed = [], []
    try:
        run_all(figures, repeat, launch, missing, tell, launches, failed)
    except KeyboardInterrupt:
        tell("interrupted: what has been measured is written")
    return launches, failed


def run_all(figures, repeat, launch, missing, tell, launches, failed):
    failures = collections.Counter()
    for turn in range(repeat):
        for figure in figures:
            tell(f"turn {turn + 1} of {repeat}: {figure.key}")
            for variant in figure.variants:
                which = (figure.key, variant.name)
                if variant.library in missing or failures[which] >= CHANCES:
                    continue
                try:
                    for entry in figures_of(figure, launch(variant)):
                        launches.append({"turn": turn, "figure": figure.key, "variant": variant.name,
                                         **entry})
                except RuntimeError as why:
                    tell(f"  {variant.name}: {why}")
                    failed.append({"turn": turn, "figure": figure.key, "variant": variant.name,
                                   "why": str(why)})
                    failures[which] += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=measure.ROOT / "build" / "release")
    parser.add_argument("--repeat", type=int, help="launches of each configuration (default 5, quick 2)")
    parser.add_argument("--quick", action="store_true",
                        help="short rounds, few launches: checks that everything runs")
    parser.add_argument("--only", action="append", metavar="NAME",
                        help="only figures whose name contains this, or that of another --only")
    parser.add_argument("--list", action="store_true", help="names of the figures and their configurations")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("compare.json"))
    args = parser.parse_args()
    if args.repeat is not None and args.repeat < 1:
        parser.error(f"--repeat: {args.repeat} is not at least 1")
    repeat = args.repeat or (2 if args.quick else 5)
    rounds, seconds = (3, 0.01) if args.quick else (5, 0.05)
    build = args.build.resolve()
    common = ("--json", "--rounds", str(rounds), "--seconds", str(seconds))
    wanted = args.only or [""]
    figures = [f for f in compare_configs.figures(build, common) if any(name in f.key for name in wanted)]
    if args.list:
        for f in figures:
            print(f"{f.key}: {'; '.join(v.name for v in f.variants)}")
        return
    if not figures:
        parser.error(f"--only: no figure's name contains {' or '.join(wanted)}; see --list")
    for program in ("bench/lci_perf", "bench/start_time", "lib/tools/lcirun/lcirun"):
        if not (build / program).exists():
            parser.error(f"{build / program} is not there; build first: bash bench/compare.sh does")
    missing = missing_peers(build)
    for peer, remedy in missing.items():
        print(f"missing: {peer} ({remedy})", file=sys.stderr)

    if args.quick:
        launch = Launcher(attempts=1)
    else:
        launch = Launcher(distance=Distance(build / "bench" / "lci_perf"))
        launch.distance.learn()
    launches, failed = run(figures, repeat, launch, missing,
                           lambda text: print(text, file=sys.stderr, flush=True))
    result = {
        "command": os.environ.get("COMPARE_COMMAND",
                                  "python3 bench/compare_run.py " + " ".join(sys.argv[1:])),
        "date": datetime.date.today().isoformat(), "host": platform.node(),
        "machine": measure.machine(build / "bench" / "lci_perf"),
        "versions": versions(), "repeat": repeat, "rounds": rounds, "seconds": seconds, "missing": missing,
        "disturbed": {"repeated": launch.disturbed, "kept": launch.kept_disturbed},
        "figures": {f.key: describe(f) for f in figures}, "launches": launches, "failed": failed}
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps(result, indent=1) + "\n")
    print(args.output)


if __name__ == "__main__":
    main()
