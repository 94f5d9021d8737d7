#!/usr/bin/env python3
"""Compares LCI's ARMCI with ARMCI-MPI over MPICH, and Global Arrays on both, in turns; and, over TCP, with LCI's own
active messages. Prints a table, whose rows have the aims.

    python3 bench/armci/armci.py [--repeat 5] [--build build/release] [--into bench/RESULTS.md] [PART...]

Parts: host (two processes of a host), tcp, start, ga. Needs libarmci-mpi-dev for the peer and libglobalarrays-dev for
ga; says what is missing."""

import argparse
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import compare_report  # noqa: E402

PARTS = ("host", "tcp", "start", "ga")
LINE = re.compile(r"^([a-z][^:]*): ([0-9.e+-]+) (\S+)$", re.M)
BEGIN, END = "<!-- written by bench/armci/armci.py -->", "<!-- end of bench/armci/armci.py -->"
OVER_TCP = {"LCI_ATTR_BACKEND": "tcp", "LCI_ATTR_RANKS_PER_HOST": "1"}
FAR = ("put 8", "get 8", "put 1M", "put rows of 1K")


def launch(command, more=None):
    """What the program prints: {name: (value, unit)}."""
    done = subprocess.run([str(w) for w in command], env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **(more or {})},
                          capture_output=True, text=True, timeout=180)
    found = {name: (float(value), unit) for name, value, unit in LINE.findall(done.stdout)}
    if not found:
        sys.exit(f"{' '.join(map(str, command))}: nothing measured\n{done.stdout}{done.stderr}")
    return found


class Bench:
    def __init__(self, build):
        self.here = build / "bench/armci"
        self.lcirun = [build / "lib/tools/lcirun/lcirun", "-n", "2"]
        self.lci_perf = build / "bench/lci_perf"
        self.values, self.units = {}, {}

    def keep(self, side, found):
        for name, (value, unit) in found.items():
            self.values.setdefault((side, name), []).append(value)
            self.units[name] = unit

    def run(self, part):
        has_peer = (self.here / "armci_perf_mpich").exists()
        mpiexec = ["mpiexec.mpich", "-n", "2"]
        if part == "host":
            self.keep("lci", launch([*self.lcirun, self.here / "armci_perf"]))
            if has_peer:
                self.keep("peer", launch([*mpiexec, self.here / "armci_perf_mpich"]))
        elif part == "tcp":
            self.keep("tcp", launch([*self.lcirun, self.here / "armci_perf", *FAR], OVER_TCP))
            out = subprocess.run([*map(str, self.lcirun), str(self.lci_perf), "am", "latency"], check=True,
                                 env={**os.environ, **OVER_TCP}, capture_output=True, text=True, timeout=120).stdout
            self.keep("tcp", {"round trip": (2 * float(out.split("\n")[-2].split()[2]), "ns")})
        elif part == "start":
            self.keep("start", launch([*self.lcirun, self.here / "armci_perf", "init"]))
        elif (self.here / "ga_perf").exists():
            self.keep("lci", launch([*mpiexec, self.here / "ga_perf"]))
            self.keep("peer", launch([*mpiexec, self.here / "ga_perf_mpich"]))

    def median(self, side, name):
        found = self.values.get((side, name))
        return statistics.median(found) if found else None

    def rows(self):
        """(what, figure, beside it, ratio, aim, met)"""
        def absolute(side, name, most):
            v = self.median(side, name)
            if v is not None:
                yield name, v, self.peer_text(name), "", f"at most {most:g} {self.units[name]}", v <= most

        def against(side, name, other_side, other, least=None, most=None, title=None, floor_says=""):
            v, o = self.median(side, name), self.median(other_side, other)
            if v is None or o is None:
                return
            r = v / o
            aim = f"at least {least:g} x" if least is not None else f"at most {most:g} x"
            yield (title or name, v, f"{o:.4g} {floor_says}", f"{r:.2f}", aim,
                   r >= least if least is not None else r <= most)

        yield from absolute("lci", "put 8", 20)
        yield from absolute("lci", "get 8", 20)
        yield from absolute("lci", "rmw", 40)
        yield from against("lci", "rmw by two", "lci", "floor atomic by two", most=2, floor_says="plain atomic")
        for way, rows in (("put", "out"), ("get", "in")):
            yield from against("lci", f"strided {way}", "lci", f"floor rows {rows}", 0.95, floor_says="memcpy by rows")
            yield from against("lci", f"strided {way}", "peer", f"strided {way}", 1.5, floor_says="ARMCI-MPI")
        for size in ("64K", "1M"):
            yield from against("lci", f"accumulate {size}", "lci", f"floor loop {size}", 0.5, floor_says="plain loop")
        nb = self.median("lci", "nbput 8")
        if nb is not None:
            yield "nbput 8", nb, self.peer_text("nbput 8"), "", "at least 50 M/s", nb >= 50
        yield from absolute("lci", "lock", 100)
        for name in ("put 8", "get 8"):
            yield from against("tcp", name, "tcp", "round trip", most=1.2, title=f"{name}, tcp",
                               floor_says="a round trip")
        yield from against("tcp", "put rows of 1K", "tcp", "put 1M", 0.8, title="put rows of 1K, tcp",
                           floor_says="contiguous")
        yield from against("lci", "dgemm", "peer", "dgemm", 1, title="GA_Dgemm 1024²", floor_says="ARMCI-MPI")
        for way in ("put", "get", "acc"):
            yield from against("lci", f"patch {way}", "peer", f"patch {way}", 2, title=f"GA {way} of random patches",
                               floor_says="ARMCI-MPI")
        yield from absolute("start", "init", 10)

    def peer_text(self, name):
        v = self.median("peer", name)
        return "" if v is None else f"{v:.4g} ARMCI-MPI"

    def unit(self, title):
        name = title.split(",")[0]
        return self.units.get(name) or ("GFLOP/s" if "Dgemm" in title else "k/s")


def processor():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    found = re.search(r"model name\s*: (.*)", text)
    return found.group(1) if found else platform.machine()


def section(bench, repeat, command):
    lines = [BEGIN, "## ARMCI", "", "Measured by", "", "```sh", command, "```", "",
             f"on {processor()}, {os.cpu_count()} cores, Linux {platform.release()}; {repeat} launches of each, in turns; "
             "medians. Two processes. ARMCI-MPI: Debian's, over MPICH.", ""]
    rows = [(what, f"**{v:.4g}** {bench.unit(what)}", beside, ratio, aim, "yes" if met else "no")
            for what, v, beside, ratio, aim, met in bench.rows()]
    lines += compare_report.table(("what", "LCI", "beside", "ratio", "aim", "met"), rows)
    return "\n".join([*lines, END])


def put_into(path, new):
    text = path.read_text()
    if BEGIN in text:
        text = text[:text.index(BEGIN)] + new + text[text.index(END) + len(END):]
    else:
        text = text.rstrip("\n") + "\n\n" + new + "\n"
    path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--into", type=pathlib.Path)
    parser.add_argument("parts", nargs="*", metavar="PART")
    args = parser.parse_args()
    if wrong := set(args.parts) - set(PARTS):
        parser.error(f"{', '.join(wrong)}: parts are {', '.join(PARTS)}")
    bench = Bench(args.build.resolve())
    if not (bench.here / "armci_perf_mpich").exists():
        print("no peer: libarmci-mpi-dev or libmpich-dev is missing")
    for _ in range(args.repeat):
        for part in args.parts or PARTS:
            bench.run(part)
    text = section(bench, args.repeat, " ".join(["python3 bench/armci/armci.py", f"--repeat {args.repeat}", *args.parts]))
    print(text)
    if args.into:
        put_into(args.into, text)


if __name__ == "__main__":
    main()
