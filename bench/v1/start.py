"""Start time and memory of a program of LCI v1.7 beside one of the core: python3 bench/v1/start.py [--build DIR].

Launches of both, in turn, with 2 ranks; prints medians over launches of the later rank's figure, and their ratio."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIGURES = ("init_ms", "message_ms", "barrier_ms", "rss_before_kb", "rss_kb")
LIMIT = 1.2


def launch(lcirun, program):
    env = dict(os.environ, START_TIME_NS=str(time.clock_gettime_ns(time.CLOCK_MONOTONIC)))
    done = subprocess.run([lcirun, "-n", "2", program], env=env, check=True, capture_output=True, text=True, timeout=60)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {f: max(line[f] for line in lines) for f in FIGURES}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--repeat", type=int, default=40, help="launches of each")
    args = parser.parse_args()
    lcirun = args.build / "lib/tools/lcirun/lcirun"
    programs = {"core": args.build / "bench/start_time", "v1": args.build / "bench/v1_start"}
    seen = {name: [] for name in programs}
    for turn in range(args.repeat + 1):
        for name, program in programs.items():
            figures = launch(lcirun, program)
            if turn > 0:  # the first launch reads files
                seen[name].append(figures)
    for f in FIGURES:
        core, v1 = (statistics.median(figures[f] for figures in seen[name]) for name in programs)
        print(f"{f:14} core {core:10.2f}  v1 {v1:10.2f}  ratio {v1 / core:.2f} (aim: at most {LIMIT})")


if __name__ == "__main__":
    main()
