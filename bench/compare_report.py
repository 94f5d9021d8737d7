#!/usr/bin/env python3
"""Turns a file of bench/compare_run.py into Markdown.

    python3 bench/compare_report.py FILE.json... [--beside OTHER.json...] [-o FILE.md] [--into bench/RESULTS.md]

--beside adds columns with the figures and ratios of another kind of machine; it may be given several times. A figure is
the median of the launches' medians [smallest-largest]. A ratio is LCI's to the best peer's: the peer with the best
median, and the median of the ratios of launches of the same turn. --into replaces the table in a file.
"""

import argparse
import os
import pathlib
import statistics

import measure
from compare_data import Comparison, human
from compare_distance import APART

BEGIN, END = "<!-- written by bench/compare_report.py -->", "<!-- end of bench/compare_report.py -->"
NAMES = {"lci": "LCI", "mpich": "MPICH", "openmpi": "Open MPI", "openshmem": "OpenSHMEM (of Open MPI)",
         "ucx": "UCX", "libfabric": "libfabric"}


def spread(values, unit):
    low, high = human(min(values), unit), human(max(values), unit)
    return f"**{human(statistics.median(values), unit)}** [{low}–{high}]"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def ratio_text(ratios):
    return f"**{statistics.median(ratios):.2f}** [{min(ratios):.2f}–{max(ratios):.2f}]" if ratios else "–"


def figure_and_ratio(c, key, name, size, unit):
    """LCI's figure on a machine, and its ratio to the best peer there."""
    if key not in dict(c.figures()) or not c.turns(key, name, size):
        return "–", "–"
    return spread(c.turns(key, name, size).values(), unit), ratio_text(c.ratios(key, name, size))


def peer_cell(c, key, size, unit):
    if key not in dict(c.figures()):
        return "–"
    peer = c.best_peer(key, size)
    if peer:
        return f"{peer}: {spread(c.turns(key, peer, size).values(), unit)}"
    return "none measured" if c.variants(key, ours=False) else "–"


def ratio_rows(c, others=()):
    """A row for each of LCI's figures that any of the machines has."""
    figures = {}
    for machine in (c, *others):
        for key, figure in machine.figures():
            figures.setdefault(key, (machine, figure))
    for key, (origin, figure) in figures.items():
        unit, better = figure["unit"], "less" if figure["lower_is_better"] else "more"
        for size in figure["shown"]:
            title = figure["title"] + (f", {size} B" if len(figure["shown"]) > 1 else "")
            for name in origin.variants(key, ours=True):
                mine, ratio = figure_and_ratio(c, key, name, size, unit)
                beside = [cell for o in others for cell in figure_and_ratio(o, key, name, size, unit)]
                if all(cell == "–" for cell in (mine, *beside)):
                    continue
                compared = any(cell != "–" for cell in (ratio, *beside[1::2]))
                yield (title, name, unit, mine, peer_cell(c, key, size, unit), ratio, *beside,
                       figure["aim"].get(name, f"{better} than 1" if compared else "–"))


def peer_rows(c):
    """All configurations of each figure, best first."""
    for key, figure in c.figures():
        for size in figure["shown"]:
            found = [(c.median(key, name, size), name) for name in figure["variants"]
                     if c.turns(key, name, size)]
            found.sort(reverse=not figure["lower_is_better"])
            title = figure["title"] + (f", {size} B" if len(figure["shown"]) > 1 else "")
            shown = [f"{'LCI ' if figure['variants'][n]['ours'] and n != 'LCI' else ''}{n} "
                     f"{spread(c.turns(key, n, size).values(), figure['unit'])}" for _, n in found]
            if shown:
                yield (title, figure["unit"], "; ".join(shown))


def rounds_of(d):
    return f"{d['rounds']} rounds of {d['seconds']} s each" if "rounds" in d else "one round each"


def section(c, plots=(), notes=None, files=(), others=()):
    d = c.data
    versions = ", ".join(f"{NAMES[k]} {v}" for k, v in d["versions"].items())
    lines = ["## Beside other libraries", "", "Measured by", "", "```sh", d["command"].strip(), "```", "",
             f"on {d['date']}, {measure.described(d['machine'])}; {versions}.",
             f"Each configuration was launched {d['repeat']} times, in turns with those it stands beside. "
             f"{d['disturbed']['repeated']} launches were repeated because other processes were busy or "
             f"the cores were far apart (a hand-off of more than {APART} times the shortest); "
             f"{d['disturbed']['kept']} had to be kept all the same. Figures are **medians** of the launches "
             "[smallest–largest]; a ratio is LCI's to the best peer's of the same turn. 8 bytes where not "
             "said otherwise.", ""]
    if notes:
        lines[-1:] = ["", f"[What is not reached, and why]({notes}).", ""]
    columns = ("what", "LCI", "unit", "LCI's figure", "best peer", "ratio", "aim")
    for other in others:
        o, (fewest, most) = other.data, other.launches()
        launches = f"{fewest} launches" if fewest == most else f"{fewest} to {most} launches"
        name = f"{o['machine']['processor']}, {o['machine']['cores']} cores, {o['date']}"
        lines += [f"Columns of {name}: {measure.described(o['machine'])}; "
                  f"LCI {o['versions'].get('lci', '?')}; {launches}, {rounds_of(o)}.", ""]
        columns = (*columns[:-1], f"LCI's figure, {name}", f"ratio, {name}", columns[-1])
    lines += table(columns, ratio_rows(c, others))
    for name, remedy in d["missing"].items():
        lines += ["", f"Not measured: {NAMES[name]} ({remedy})."]
    if d["failed"]:
        lines += ["", "Launches that gave nothing:", ""]
        counted = {}
        for f in d["failed"]:
            counted.setdefault((f["figure"], f["variant"], f["why"]), []).append(f["turn"])
        lines += [f"* {figure}, {variant}: {why} ({len(turns)} of {d['repeat']} turns)"
                  for (figure, variant, why), turns in counted.items()]
    for plot in plots:
        lines += ["", f"![{plot.stem}]({plot})"]
    if files:
        lines += ["", "Each launch: " + ", ".join(f"[{f.name}]({f})" for f in files) + "."]
    lines += ["", "### All configurations, best first", ""]
    lines += table(("what", "unit", "figures"), peer_rows(c))
    return "\n".join([BEGIN, *lines, END])


def section_of(text):
    """The section in a file's text; empty if it has none."""
    if BEGIN not in text or END not in text:
        return ""
    return text[text.index(BEGIN):text.index(END) + len(END)]


def put_into(text, new):
    """`text` with its section replaced by `new`, or with `new` appended if it has none."""
    old = section_of(text)
    return text.replace(old, new) if old else text.rstrip("\n") + "\n\n" + new + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", type=pathlib.Path, nargs="+")
    parser.add_argument("--beside", type=pathlib.Path, nargs="+", action="append", default=[], metavar="FILE",
                        help="of another kind of machine; once for each kind")
    parser.add_argument("-o", "--output", type=pathlib.Path)
    parser.add_argument("--into", type=pathlib.Path)
    args = parser.parse_args()
    c = Comparison.read(*args.figures)
    others = [Comparison.read(*files) for files in args.beside]
    plots = sorted(args.figures[0].parent.glob(args.figures[0].stem + "-*.svg"))
    if args.into:
        folder = args.into.resolve().parent
        text = args.into.read_text() if args.into.exists() else "# Results\n"
        links, files = ([pathlib.Path(os.path.relpath(p.resolve(), folder)) for p in paths]
                        for paths in (plots, [*args.figures, *sum(args.beside, [])]))
        notes = pathlib.Path(__file__).resolve().with_name("UNREACHED.md")
        args.into.write_text(put_into(text, section(c, links, os.path.relpath(notes, folder), files, others)))
    text = section(c, [pathlib.Path(p.name) for p in plots], others=others)
    if args.output:
        args.output.write_text(text + "\n")
    elif not args.into:
        print(text)


if __name__ == "__main__":
    main()
