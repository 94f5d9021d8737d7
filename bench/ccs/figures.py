#!/usr/bin/env python3
"""Measures what Fig. 2 and Fig. 3 of the paper on CCS show, beside the core and its peers on this machine, and writes a
table (ccs-figures.md) and two drawings (ccs-latency.svg, ccs-bandwidth.svg).

    bench/ccs/figures.py --build build/release [--out bench/results] [--launches 3]

Latency: half a round trip of an active message; with MPI of a send and a receive, with ARMCI of a put. Bandwidth: puts
that do not wait for each other. Two processes, medians of launches. A program that was not built is left out, with a
line that says so.
"""

import argparse
import json
import math
import pathlib
import re
import subprocess

SIZES = {"latency": [8 * 4**i for i in range(6)] + [16384], "bandwidth": [8 * 4**i for i in range(10)]}
COLOURS = ["#c0392b", "#2c3e50", "#2980b9", "#27ae60", "#8e44ad"]


def run(command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=120, check=False)
    # Of MPICH's launcher one job in ten to forty ends with the status of a hang-up after all ranks have finished.
    if done.returncode != 0 and not (str(command[0]).startswith("mpiexec") and done.stdout):
        raise subprocess.CalledProcessError(done.returncode, done.args, done.stdout, done.stderr)
    return done.stdout


def of_layer(command):
    """Of the programs of CCS and ARMCI, which print a line for each figure and size."""
    said = run(command)
    return {(what, int(size)): float(value)
            for what, size, value in re.findall(r"^(latency|bandwidth) (\d+): ([\d.e+-]+)", said, re.M)}


def of_perf(command, operations):
    """Of lci_perf and the peer's programs, which have the same options."""
    found = {}
    for what, operation in operations.items():
        sizes = ",".join(map(str, SIZES[what]))
        said = run([*command, operation, what, "--size", sizes, "--json", "--rounds", 5, "--seconds", 0.02])
        for line in said.splitlines():
            if line.startswith("{"):
                figure = json.loads(line)
                found[what, figure["size"]] = figure["median"]
    return found


def sources(build):
    lcirun = [build / "lib/tools/lcirun/lcirun", "-n", 2]
    messages = {"latency": "am", "bandwidth": "put"}
    return {
        "CCS": ("bench/ccs/ccs_perf", lambda: of_layer([*lcirun, build / "bench/ccs/ccs_perf", "figures"])),
        "core": ("bench/lci_perf", lambda: of_perf([*lcirun, build / "bench/lci_perf"], messages)),
        "ARMCI": ("bench/armci/armci_perf", lambda: of_layer([*lcirun, build / "bench/armci/armci_perf", "sizes"])),
        "UCX": ("bench/peers/peer_ucx", lambda: of_perf([build / "bench/peers/peer_ucx"], messages)),
        "MPICH": ("bench/peers/peer_mpich",
                  lambda: of_perf(["mpiexec.mpich", "-n", 2, build / "bench/peers/peer_mpich"],
                                  {"latency": "sendrecv", "bandwidth": "put"})),
    }


def draw(path, title, unit, lines):
    """Lines of (size, value) with logarithmic axes."""
    width, height, left, bottom, top = 640, 400, 70, 340, 40
    points = [p for line in lines.values() for p in line]
    x0, x1 = (math.log2(f(p[0] for p in points)) for f in (min, max))
    y0, y1 = math.floor(math.log10(min(p[1] for p in points))), math.ceil(math.log10(max(p[1] for p in points)))
    x = lambda size: left + (math.log2(size) - x0) / (x1 - x0) * (width - left - 120)  # noqa: E731
    y = lambda value: bottom - (math.log10(value) - y0) / (y1 - y0) * (bottom - top)  # noqa: E731
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
           'font-size="11"><rect width="100%" height="100%" fill="white"/>',
           f'<text x="{left}" y="20" font-size="14">{title}</text>',
           f'<text x="10" y="{top - 8}">{unit}</text><text x="{(width - 120) / 2}" y="{height - 15}">bytes</text>']
    for e in range(y0, y1 + 1):
        out.append(f'<path d="M{left} {y(10**e):.1f}H{width - 120}" stroke="#ddd"/>'
                   f'<text x="{left - 8}" y="{y(10**e) + 4:.1f}" text-anchor="end">{10**e:,}</text>')
    for size in sorted({p[0] for p in points}):
        out.append(f'<text x="{x(size):.1f}" y="{bottom + 18}" text-anchor="middle">{size}</text>')
    for i, (name, line) in enumerate(lines.items()):
        path_of = "L".join(f"{x(s):.1f} {y(v):.1f}" for s, v in sorted(line))
        out.append(f'<path d="M{path_of}" fill="none" stroke="{COLOURS[i]}" stroke-width="{2.5 if i == 0 else 1.5}"/>')
        out.append(f'<text x="{width - 110}" y="{top + 18 * i + 10}" fill="{COLOURS[i]}">{name}</text>')
    path.write_text("\n".join(out) + "\n</svg>\n", encoding="utf-8")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", type=pathlib.Path, required=True)
    p.add_argument("--out", type=pathlib.Path, default=pathlib.Path("bench/results"))
    p.add_argument("--launches", type=int, default=3)
    options = p.parse_args()
    launches = {}
    for _ in range(options.launches):  # in turns
        for name, (program, measure) in sources(options.build.resolve()).items():
            if not (options.build / program).exists():
                print(f"{name} is left out: {program} is not built")
                continue
            launches.setdefault(name, []).append(measure())
    medians = {name: {key: sorted(one[key] for one in all_)[len(all_) // 2] for key in all_[0]}
               for name, all_ in launches.items()}
    table = ["Written by bench/ccs/figures.py: two processes of a host, medians of launches.", ""]
    for what, unit, title in (("latency", "ns", "Latency (Fig. 2)"), ("bandwidth", "MB/s", "Bandwidth of puts (Fig. 3)")):
        lines = {name: [(size, m[what, size]) for size in SIZES[what] if (what, size) in m]
                 for name, m in medians.items()}
        draw(options.out / f"ccs-{what}.svg", title, unit, lines)
        table += [f"## {title}, {unit}", "", "| bytes | " + " | ".join(lines) + " |", "|---" * (len(lines) + 1) + "|"]
        for size in SIZES[what]:
            cells = [f"{medians[name][what, size]:.4g}" if (what, size) in medians[name] else "" for name in lines]
            table.append(f"| {size} | " + " | ".join(cells) + " |")
        table.append("")
    (options.out / "ccs-figures.md").write_text("\n".join(table), encoding="utf-8")
    print("\n".join(table))


if __name__ == "__main__":
    main()
