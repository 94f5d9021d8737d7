#!/usr/bin/env python3
"""Turns a file of bench/compare_run.py into Markdown.

    python3 bench/compare_report.py FILE.json... [--beside OTHER.json...] [-o FILE.md] [--into bench/RESULTS.md]

--beside adds columns with the ratios of another kind of machine. A figure is the median of the launches' medians [smallest-largest]. A ratio is LCI's to the best peer's:
the peer with the best median, and the median of the ratios of launches of the same turn. --into replaces the
table in a file.
"""

import argparse
import os
import pathlib
import statistics

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


def beside_cells(other, key, name, size, unit):
    """LCI's figure and the ratio on the other machine."""
    if key not in dict(other.figures()) or not other.turns(key, name, size):
        return "–", "–"
    return spread(other.turns(key, name, size).values(), unit), ratio_text(other.ratios(key, name, size))


def ratio_rows(c, other=None):
    for key, figure in c.figures():
        for size in figure["shown"]:
            peer = c.best_peer(key, size)
            for name in c.variants(key, ours=True):
                mine = c.turns(key, name, size).values()
                if not mine:
                    continue
                unit, ratios = figure["unit"], c.ratios(key, name, size)
                no_peer = "none measured" if c.variants(key, ours=False) else "–"
                better = "less" if figure["lower_is_better"] else "more"
                yield (figure["title"] + (f", {size} B" if len(figure["shown"]) > 1 else ""), name, unit,
                       spread(mine, unit),
                       f"{peer}: {spread(c.turns(key, peer, size).values(), unit)}" if peer else no_peer,
                       ratio_text(ratios), *(beside_cells(other, key, name, size, unit) if other else ()),
                       figure["aim"].get(name, f"{better} than 1" if ratios else "–"))


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


def machine_of(d):
    m = d["machine"]
    return f"{m['processor']}, {m['cores']} cores, {m['memory_gib']} GiB, Linux {m['kernel']}"


def section(c, plots=(), notes=None, files=(), other=None):
    d = c.data
    versions = ", ".join(f"{NAMES[k]} {v}" for k, v in d["versions"].items())
    lines = ["## Beside other libraries", "", "Measured by", "", "```sh", d["command"].strip(), "```", "",
             f"on {d['date']}, {machine_of(d)}; {versions}.",
             f"Each configuration was launched {d['repeat']} times, in turns with those it stands beside. "
             f"{d['disturbed']['repeated']} launches were repeated because other processes were busy or "
             f"the cores were far apart (a hand-off of more than {APART} times the shortest); "
             f"{d['disturbed']['kept']} had to be kept all the same. Figures are **medians** of the launches "
             "[smallest–largest]; a ratio is LCI's to the best peer's of the same turn. 8 bytes where not "
             "said otherwise.", ""]
    if notes:
        lines[-1:] = ["", f"[What is not reached, and why]({notes}).", ""]
    columns = ("what", "LCI", "unit", "LCI's figure", "best peer", "ratio", "aim")
    if other:
        o = other.data
        name = o["machine"]["processor"]
        lines += [f"Columns of the other machine: {o['date']}, {machine_of(o)}; LCI {o['versions'].get('lci', '?')}; "
                  f"{o['repeat']} launches, {o['rounds']} rounds of {o['seconds']} s each.", ""]
        columns = (*columns[:-1], f"LCI's figure, {name}", f"ratio, {name}", columns[-1])
    lines += table(columns, ratio_rows(c, other))
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
    parser.add_argument("--beside", type=pathlib.Path, nargs="+", help="of another kind of machine")
    parser.add_argument("-o", "--output", type=pathlib.Path)
    parser.add_argument("--into", type=pathlib.Path)
    args = parser.parse_args()
    c = Comparison.read(*args.figures)
    other = Comparison.read(*args.beside) if args.beside else None
    plots = sorted(args.figures[0].parent.glob(args.figures[0].stem + "-*.svg"))
    if args.into:
        folder = args.into.resolve().parent
        text = args.into.read_text() if args.into.exists() else "# Results\n"
        links, files = ([pathlib.Path(os.path.relpath(p.resolve(), folder)) for p in paths]
                        for paths in (plots, [*args.figures, *(args.beside or [])]))
        notes = pathlib.Path(__file__).resolve().with_name("UNREACHED.md")
        args.into.write_text(put_into(text, section(c, links, os.path.relpath(notes, folder), files, other)))
    text = section(c, [pathlib.Path(p.name) for p in plots], other=other)
    if args.output:
        args.output.write_text(text + "\n")
    elif not args.into:
        print(text)


if __name__ == "__main__":
    main()
