"""Makes single calls fail in every scenario, one by one: allocations, and system calls with each errno.

    suite.py --program sweep_scenarios --launcher lcirun [--what alloc] [--network shm] [--scenario am] [--all]

A scenario is first run without faults to count its calls. Then it is run repeatedly, each time as a job of its own in
which another call fails at one of the ranks. The scenario checks its results itself (scene.hpp, flow.hpp); this script
checks that the job ends, and not by a signal. Of many calls a sample is tried: evenly spread, always with the first
ones, and the same in each run. With --all or LCI_TESTS_LONG=1 all calls are tried, except for
those that a wait repeats many times (plans.WHOLE_OF_OTHERS). For a failure the script prints the call, its backtrace,
and a command that repeats the job.
"""

import argparse
import bisect
import concurrent.futures
import functools
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import zlib

import plans

REPORTED = 3  # reported_code of scene.hpp: the runtime did not start, or has lost its launcher, and has reported why
LIMIT = 60  # seconds. A job takes less than one, and its own time-out is shorter; with sanitizers jobs are slower.


def parse(arguments):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--program", required=True)
    p.add_argument("--launcher", required=True)
    p.add_argument("--what", action="append", help="alloc, or the name of a call; default: all calls of the plan")
    p.add_argument("--network", action="append", choices=sorted(plans.NETWORKS))
    p.add_argument("--libraries", default="", help="the folder of the libraries that wrap others and count their calls")
    p.add_argument("--scenario", action="append")
    p.add_argument("--plan", default="memory", choices=sorted(plans.PLANS))
    p.add_argument("--sample", type=int, help="calls of each kind to fail at each rank, instead of the plan's number")
    p.add_argument("--all", action="store_true", default=os.environ.get("LCI_TESTS_LONG", "0") != "0")
    p.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    return p.parse_args(arguments)


def numbers(n, sample, of):
    """1..n, or a sample of them: the first half of the sample is 1, 2 and so on, the other half is evenly spread. A
    sample of one number is chosen by the text `of`."""
    if n <= sample:
        return list(range(1, n + 1))
    if sample == 1:
        return [1 + zlib.crc32(of.encode()) % n]
    first = sample // 2
    rest = sample - first
    return list(range(1, first + 1)) + sorted({first + (n - first) * (i + 1) // rest for i in range(rest)})


@functools.lru_cache(maxsize=None)
def symbols(path):
    said = subprocess.run(["nm", "-C", "--defined-only", path], capture_output=True, text=True, check=False).stdout
    found = []
    for line in said.splitlines():
        address, kind, name = (line.split(None, 2) + ["", ""])[:3]
        if kind in "tTwWuV" and name:
            found.append((int(address, 16), name))
    return sorted(found)


FRAME = re.compile(r"^(?P<path>/\S+?)\((?P<name>[^+)]*)\+0x(?P<offset>[0-9a-f]+)\)\s*\[")


def readable(text):
    """The text, with backtraces as names of functions."""
    lines = []
    for line in text.splitlines():
        frame = FRAME.match(line)
        if frame and not frame["name"]:
            table, address = symbols(frame["path"]), int(frame["offset"], 16)
            at = bisect.bisect(table, (address, "~")) - 1
            if at >= 0:
                line = f"    {table[at][1]}"
        elif frame:
            name = subprocess.run(["c++filt", frame["name"]], capture_output=True, text=True,
                                  check=False).stdout.strip()
            line = f"    {name}"
        lines.append(line)
    return "\n".join(lines)


class Sweep:
    def __init__(self, options):
        self.options = options
        self.jobs_played = 0
        self.ended_jobs = 0  # by the library, with a text

    def command(self, scenario, network, ranks, fault, rank):
        environment = dict(plans.NETWORKS[network])
        if self.options.libraries:
            environment["LD_LIBRARY_PATH"] = self.options.libraries
        if fault:
            environment.update(LCI_TEST_SWEEP=fault, LCI_TEST_SWEEP_RANK=str(rank))
        if plans.PLANS[self.options.plan].get("alone"):
            return environment, [self.options.program]
        return environment, [self.options.launcher, "-n", str(ranks), self.options.program, scenario]

    def play(self, scenario, network, ranks, fault="", rank=0):
        """Runs a job. Returns (the error or "", the output)."""
        environment, command = self.command(scenario, network, ranks, fault, rank)
        job = subprocess.Popen(command, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                               start_new_session=True)
        self.jobs_played += 1
        wrong = ""
        try:
            said, _ = job.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            said, _ = job.communicate()
            wrong = f"did not end within {LIMIT} s"
        # Left behind if a rank has ended before both were attached (board.cpp).
        for page in pathlib.Path("/dev/shm").glob(f"lci-sweep-{job.pid}-*"):
            page.unlink(missing_ok=True)
        reported = REPORTED if scenario in ("start", "device") and fault else 0
        if not wrong and job.returncode not in (0, reported):
            wrong = f"exit status {job.returncode}"
            may_end = plans.PLANS[self.options.plan].get("may_end")
            if fault and may_end and job.returncode == 1 and "SWEEP FAILED" not in said and re.search(may_end, said, re.M):
                self.ended_jobs += 1
                wrong = ""
        if wrong:
            line = " ".join([f"{k}={v}" for k, v in environment.items()] + command)
            said = f"{line}\n{readable(said)}"
        return wrong, said

    def counts(self, scenario, network, ranks):
        """The number of calls of each kind, by rank. (It may differ slightly between jobs.)"""
        found = []
        wrong, said = self.play(scenario, network, ranks)
        for rank in range(ranks if not wrong else 0):
            line = re.search(rf"^COUNTS rank={rank}\b.*$", said, re.M)
            found.append(dict(item.split("=") for item in line[0].split()[1:]) if line else {})
        return wrong, said, found

    def cases(self, title, counts, calls, sample):
        for rank, counted in enumerate(counts):
            for call, errnos in calls.items():
                n = int(counted.get(call, 0))
                if self.options.what and call not in self.options.what:
                    continue
                tried = sample
                if self.options.all:
                    tried = n if n <= plans.WHOLE.get(call, plans.WHOLE_OF_OTHERS) else plans.LONG_SAMPLE
                for i in numbers(n, tried, f"{title} {rank} {call}"):
                    for how in dict.fromkeys(errnos) if self.options.all else [errnos[i % len(errnos)]]:
                        yield f"{call}:{i}{how}", rank

    def sweep(self, pool, scenario, network, ranks, plan):
        """One test case: prints its line and returns whether it has passed."""
        title = f"{scenario}, {network}, {ranks} rank{'s' if ranks > 1 else ''}"
        begin = time.monotonic()
        wrong, said, counts = self.counts(scenario, network, ranks)
        if wrong:
            print(f"{said}\nFAILED {title}: without a fault: {wrong}", flush=True)
            return False
        sample = self.options.sample or plan["sample"][network]
        calls = plan.get(f"calls_at_{scenario}", plan["calls"])
        cases = list(self.cases(title, counts, calls, sample))
        if scenario != "start":
            cases += self.cases(title, counts, plan.get("breaking_calls", {}).get(network, {}), sample)
        most = plan.get("most", len(cases))
        if not self.options.all and not self.options.sample and len(cases) > most:
            cases = [cases[i * len(cases) // most] for i in range(most)]
        results = pool.map(lambda case: (case, self.play(scenario, network, ranks, *case)), cases)
        bad = [(case, wrong, said) for case, (wrong, said) in results if wrong]
        for (fault, rank), wrong, said in bad[:5]:
            print(f"--- {title}: {fault} at rank {rank}: {wrong}\n{said}")
        took = time.monotonic() - begin
        if bad:
            print(f"FAILED {title}: {len(bad)} of {len(cases)} faults: {' '.join(f'{c[0]}@{c[1]}' for c, _, _ in bad)}",
                  flush=True)
        else:
            print(f"PASSED {title}: {len(cases)} faults ({took:.1f} s)", flush=True)
        return not bad


def main():
    options = parse(sys.argv[1:])
    plan = plans.PLANS[options.plan]
    sweep = Sweep(options)
    listed = plan.get("listed") or subprocess.run([options.program], capture_output=True, text=True,
                                                  check=True).stdout.split()
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for network in options.network or plan["networks"]:
            some = plan.get("scenarios", {}).get(network, listed)
            for scenario in options.scenario or (plan.get("all_scenarios", listed) if options.all else some):
                for ranks in (1, 2) if scenario in ("start", "end") else (2,):
                    if sweep.sweep(pool, scenario, network, ranks, plan):
                        passed += 1
                    else:
                        failed += 1
    ended = f", of which the library has ended {sweep.ended_jobs} with a text" if "may_end" in plan else ""
    print(f"{sweep.jobs_played} jobs{ended}")
    print(f"cases: {passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
