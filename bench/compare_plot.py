#!/usr/bin/env python3
"""Draws the figures of a file of bench/compare_run.py into files beside it: latency, rate and bandwidth by
size, rate by threads, use of parts of the library by threads, and the cost of a start; each as SVG and PNG.

    python3 bench/compare_plot.py FILE.json        (needs matplotlib; Debian: python3-matplotlib)
"""

import argparse
import pathlib
import re

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  (after the choice of the backend)

from compare_data import Comparison  # noqa: E402

COLOURS = [*pyplot.get_cmap("tab20").colors[::2], *pyplot.get_cmap("tab20").colors[1::2]]
UNITS = {"op/s": "operations a second", "s": "seconds", "ns": "nanoseconds", "msg/s": "messages a second",
         "MB/s": "MB/s", "ms": "milliseconds", "kB": "kB"}


def line_of(axes, xs, values, name, ours):
    """Medians over launches as a line, smallest to largest as a band. `values`: for each x a dict, launch to figure."""
    kept = [(x, list(v.values())) for x, v in zip(xs, values) if v]
    if not kept:
        return
    x = [k[0] for k in kept]
    middle = [sorted(v)[len(v) // 2] for _, v in kept]
    drawn, = axes.plot(x, middle, marker="o", markersize=4, linewidth=2.2 if ours else 1.1,
                       linestyle="-" if ours else "--", label=("LCI " if ours else "") + name)
    axes.fill_between(x, [min(v) for _, v in kept], [max(v) for _, v in kept], alpha=0.12,
                      color=drawn.get_color())


def finish(figure, axes, title, xlabel, unit, path):
    axes.set_title(title)
    axes.set_xlabel(xlabel)
    axes.set_ylabel(UNITS[unit])
    axes.grid(True, which="both", alpha=0.25)
    axes.legend(fontsize=7)
    save(figure, path)


def save(figure, path):
    figure.tight_layout()
    file = path.with_name(path.name + ".svg")
    figure.savefig(file)
    pyplot.close(figure)
    print(file)


def by_size(c, key, path):
    about = c.data["figures"][key]
    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    axes.set_prop_cycle(color=COLOURS)
    for name, v in about["variants"].items():
        sizes = c.sizes(key, name)
        line_of(axes, sizes, [c.turns(key, name, s) for s in sizes], name, v["ours"])
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    finish(figure, axes, about["title"] + " by size", "bytes", about["unit"], path)


def by_threads(c, pattern, first, title, size, path):
    """Figures whose keys contain a number of threads; `first`: those of one thread, if they have other keys."""
    of = {int(m.group(1)): key for key, _ in c.figures() if (m := re.fullmatch(pattern, key))}
    if not of:
        return
    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    axes.set_prop_cycle(color=COLOURS)
    counts = sorted(of)
    about = c.data["figures"][of[counts[0]]]
    for name, v in about["variants"].items():
        one = next((t for key in first if (t := c.turns(key, name, size))), {})
        line_of(axes, [*([1] if first else []), *counts],
                [*([one] if first else []), *(c.turns(of[n], name, size) for n in counts)], name, v["ours"])
    axes.set_xticks([*([1] if first else []), *counts])
    axes.set_yscale("log")
    finish(figure, axes, title, "threads of a process", about["unit"], path)


def bars(c, keys, path):
    """Draws figures with one number for each library."""
    keys = [k for k in keys if k in c.data["figures"]]
    if not keys:
        return
    figure, all_axes = pyplot.subplots(1, len(keys), figsize=(4.2 * len(keys), 3.6), squeeze=False)
    for axes, key in zip(all_axes[0], keys):
        about = c.data["figures"][key]
        found = [(n, c.median(key, n, 0), v["ours"]) for n, v in about["variants"].items()
                 if c.turns(key, n, 0)]
        axes.barh([f[0] for f in found], [f[1] for f in found], color=["C3" if f[2] else "C0" for f in found])
        axes.invert_yaxis()
        axes.set_title(about["title"], fontsize=8)
        axes.set_xlabel(UNITS[about["unit"]])
    save(figure, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", type=pathlib.Path)
    args = parser.parse_args()
    c = Comparison.read(args.figures)
    stem = args.figures.with_suffix("")
    for key, about in c.figures():
        if about["plot"] == "size":
            by_size(c, key, stem.with_name(f"{stem.name}-{key}"))
    for kind, each in (("dedicated", "a device for each thread"), ("shared", "one device for all threads")):
        by_threads(c, rf"threads-(\d+)-{kind}", ("rate", "rate-multiple"),
                   f"rate of 2 processes, {each}, 8 bytes", 8,
                   stem.with_name(f"{stem.name}-threads-{kind}"))
    by_threads(c, r"resources-(\d+)", (), "use of a part of the library, one for all threads", 0,
               stem.with_name(f"{stem.name}-resources"))
    bars(c, ("start", "memory"), stem.with_name(f"{stem.name}-start"))


if __name__ == "__main__":
    main()
