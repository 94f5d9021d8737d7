#!/usr/bin/env python3
"""Measures the figures of bench/RESULTS.md and writes them as JSON.

    python3 bench/measure.py [--build build/release] [--repeat 5] [-o figures.json]

Every configuration is launched `--repeat` times, in turns with all others. If a figure is compared with a
limit of the machine, the limit is measured right before it each time, and the ratio is taken of these two:
on a virtual machine the distance of two cores changes from one second to the next. Latencies are compared
with a hand-off that the same two processes measure before each of many short rounds. A launch during which
other processes were busy is discarded and repeated, at most a few times. Needs two idle cores.
"""

import argparse
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "perf"))
import count  # noqa: E402  (instructions, by callgrind)

OTHERS_BUSY = 0.05  # share of the wall time that other processes may take
ATTEMPTS = 4


# Figure -> the limit of the machine that it is compared with, measured by a launch of its own.
LIMIT_OF = {
    "am rate handler": "ring64",
    "am rate cq": "ring64",
    "sendrecv rate": "ring64",
    "am rate handler window 1024": "ring64 of 1024",
    "sendrecv bandwidth": "cma",
    "put rate": "ring64",
    "get rate": "ring64",
    "atomic latency": "atomic",
    "strided bandwidth": "strided",
}


def launch_table(perf, lcirun, rounds, seconds):
    """name -> command. The figures of a name are keyed by message size."""
    common = ["--json", "--rounds", str(rounds), "--seconds", str(seconds)]

    def floor(metric, *options):
        return [perf, "floor", metric, *options, *common]

    # Alternates with a hand-off, so in many short rounds.
    turns = ["--with-handoff", "--json", "--rounds", str(40 * rounds), "--seconds", str(seconds / 20)]

    def latency(op, *options):
        return [lcirun, "-n", "2", perf, op, "latency", *options, *turns]

    def ours(op, metric, *options, ranks=2):
        return [lcirun, "-n", str(ranks), perf, op, metric, *options, *common]

    large = ["--size", "4096,65536,1048576"]
    return {
        "ring64": floor("ring64", "--slots", "64"),
        "ring64 of 1024": floor("ring64", "--slots", "1024"),
        "cma": floor("cma", *large),
        "memcpy": floor("memcpy", *large),
        "atomic": floor("atomic"),
        "strided": floor("strided"),
        "am latency handler": latency("am"),
        "am latency cq": latency("am", "--comp", "cq"),
        "am latency sync": latency("am", "--comp", "sync"),
        "sendrecv latency": latency("sendrecv"),
        "am rate handler": ours("am", "rate"),
        "am rate cq": ours("am", "rate", "--comp", "cq"),
        "am rate cq zero-copy": ours("am", "rate", "--comp", "cq", "--zero-copy"),
        "am rate sync": ours("am", "rate", "--comp", "sync"),
        "am rate handler window 1024": ours("am", "rate", "--window", "1024"),
        "sendrecv rate": ours("sendrecv", "rate"),
        "am bandwidth handler": ours("am", "bandwidth", *large),
        "sendrecv bandwidth": ours("sendrecv", "bandwidth", *large),
        "am rate 2 threads shared": ours("am", "rate", "--threads", "2", "--bind", "cross"),
        "am rate 2 threads dedicated": ours("am", "rate", "--threads", "2", "--bind", "cross",
                                            "--devices", "dedicated"),
        "put rate": ours("put", "rate"),
        "get rate": ours("get", "rate"),
        "put latency": latency("put"),
        "get latency": latency("get"),
        "put bandwidth": ours("put", "bandwidth", *large),
        "putsignal latency": latency("putsignal"),
        "barrier latency": latency("barrier"),
        "atomic latency": ours("atomic", "latency"),
        "strided bandwidth": ours("strided", "bandwidth"),
        "am rate 1 process": ours("am", "rate", ranks=1),
        "am latency 1 process": ours("am", "latency", ranks=1),
    }


def busy_seconds():
    """CPU time in seconds that the whole machine was busy."""
    fields = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _, _, irq, softirq, steal = (int(x) for x in fields[:8])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def our_seconds():
    t = os.times()
    return t.user + t.system + t.children_user + t.children_system


class Launcher:
    """Runs commands one at a time and checks that no other processes were busy."""

    def __init__(self, attempts=ATTEMPTS):
        self.attempts = attempts
        self.disturbed = 0  # discarded launches
        self.kept_disturbed = 0
        self.environment = {k: v for k, v in os.environ.items()
                            if not k.startswith(("LCI_", "PMI_"))}

    def once(self, command, **variables):
        done = subprocess.run(command, env={**self.environment, **variables}, text=True,
                              capture_output=True, timeout=300, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}: exit code {done.returncode}\n"
                               f"{done.stdout}{done.stderr}")
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    def settle(self):
        """Called before a launch: waits until the machine is ready."""

    def is_settled(self):
        """Called after a launch: whether the machine was still ready."""
        return True

    def __call__(self, command):
        """Launches until no other process was busy, or until the last attempt."""
        for attempt in range(self.attempts):
            self.settle()
            wall, busy, ours = time.monotonic(), busy_seconds(), our_seconds()
            out = self.once(command)
            wall = time.monotonic() - wall
            others = busy_seconds() - busy - (our_seconds() - ours)
            # Ticks are coarse: a few of them are not significant.
            if others <= OTHERS_BUSY * wall + 0.03 and self.is_settled():
                return out
            if attempt + 1 < self.attempts:
                self.disturbed += 1
        self.kept_disturbed += 1
        return out


def measure_start(launch, lcirun, program):
    """Starts two ranks: the time of each until its first message, and their memory."""
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    return launch.once([lcirun, "-n", "2", program], START_TIME_NS=str(now))


def clean_build_seconds():
    with tempfile.TemporaryDirectory(prefix="lci-build-") as folder:
        build = pathlib.Path(folder) / "build"
        begin = time.monotonic()
        for command in (["meson", "setup", str(build), str(ROOT)],
                        ["ninja", "-C", str(build), "--quiet"]):
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL,
                           env={**os.environ, "CCACHE_DISABLE": "1"})
        return time.monotonic() - begin


def output_of(*command):
    """What a command prints; empty if it fails, or is not installed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def caches():
    """Sizes of the first core's caches for data, from the nearest: "L1 48K, L2 2048K, L3 32768K"."""
    sizes = {}
    for cache in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ((cache / name).read_text().strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            sizes[f"L{level}"] = size
    return ", ".join(f"{level} {size}" for level, size in sorted(sizes.items()))


def described(m):
    """A machine as reports name it; older files lack caches and hand-off."""
    text = f"{m['processor']}, {m['cores']} cores"
    if m.get("caches"):
        text += f" ({m['caches']})"
    if "handoff_ns" in m:
        text += f", hand-off {m['handoff_ns']['median']} ns [{m['handoff_ns']['min']}–{m['handoff_ns']['max']}]"
    return f"{text}, {m['memory_gib']} GiB, Linux {m['kernel']}"


def processor():
    """Its name. In virtual machines that is often short, so with the numbers that tell one generation from another."""
    fields = {}
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    name = fields.get("model name", "unknown processor")
    numbers = [f"{what} {fields[key]}" for what, key in (("family", "cpu family"), ("model", "model")) if key in fields]
    return f"{name} ({', '.join(numbers)})" if numbers else name


def machine(perf):
    """What figures depend on. `perf`: the program lci_perf, which measures how far apart two cores are."""
    memory = pathlib.Path("/proc/meminfo").read_text().split()[1]
    handoff = json.loads(subprocess.run([str(perf), "floor", "handoff", "--json"], text=True, capture_output=True,
                                        timeout=60, check=True).stdout)
    return {
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "caches": caches(),
        # One way between two cores, median and range of the rounds of one launch.
        "handoff_ns": {key: round(handoff[key]) for key in ("median", "min", "max")},
        "memory_gib": round(int(memory) / 2**20),
        "kernel": platform.release(),
        "compiler": next(iter(output_of("c++", "--version").splitlines()), "unknown"),
        "load": os.getloadavg()[0],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--repeat", type=int, default=5, help="launches of each configuration")
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds of a launch")
    parser.add_argument("--seconds", type=float, default=0.05, help="length of a round")
    parser.add_argument("--only", default="", help="only configurations whose name contains this")
    parser.add_argument("--no-build-time", action="store_true", help="skip the clean build")
    parser.add_argument("--no-instructions", action="store_true", help="skip callgrind")
    parser.add_argument("-o", "--output", type=pathlib.Path,
                        help="default: figures.json in the build folder")
    args = parser.parse_args()
    if args.repeat < 1:
        parser.error(f"--repeat: {args.repeat} is not at least 1")
    build = args.build.resolve()
    perf, lcirun = build / "bench" / "lci_perf", build / "lib" / "tools" / "lcirun" / "lcirun"
    starter, counter = build / "bench" / "start_time", build / "tests" / "perf" / "count"
    for program in (perf, lcirun, starter):
        if not program.exists():
            parser.error(f"{program} is not there; build first: bash tests/run.sh --build-only")

    launch = Launcher()
    result = {"command": "python3 bench/measure.py " + " ".join(sys.argv[1:]),
              "repeat": args.repeat, "machine": machine(perf), "launches": {}, "starts": []}
    table = launch_table(str(perf), str(lcirun), args.rounds, args.seconds)
    chosen = [name for name in table if args.only in name]

    def measure(name):
        """The medians by size, which are also added to the result."""
        medians = {}
        for line in launch(table[name]):
            size = str(line["size"])
            entry = result["launches"].setdefault(name, {}).setdefault(
                size, {"unit": line["unit"], "medians": [], "ratios": []})
            entry["medians"].append(line["median"])
            if "ratio" in line:
                entry["ratios"].append(line["ratio"])
                entry.setdefault("limits", []).append(line["limit"])
            medians[size] = line["median"]
        return medians

    def measure_against(name, limit):
        bounds = measure(limit)
        for size, median in measure(name).items():
            bound = bounds[size] if size in bounds else next(iter(bounds.values()))
            result["launches"][name][size]["ratios"].append(median / bound)

    for turn in range(args.repeat):
        print(f"turn {turn + 1} of {args.repeat}", file=sys.stderr, flush=True)
        for name in chosen:
            if name in LIMIT_OF:
                measure_against(name, LIMIT_OF[name])
            elif name not in LIMIT_OF.values():
                measure(name)
        result["starts"].append(measure_start(launch, str(lcirun), str(starter)))
    if not args.no_instructions and shutil.which("valgrind") and counter.exists():
        result["instructions"] = count.count(str(counter))
    if not args.no_build_time:
        result["build_seconds"] = clean_build_seconds()
    result["disturbed"] = {"repeated": launch.disturbed, "kept": launch.kept_disturbed}
    output = args.output or build / "figures.json"
    output.write_text(json.dumps(result, indent=1) + "\n")
    print(output)


if __name__ == "__main__":
    main()
