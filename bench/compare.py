#!/usr/bin/env python3
"""Shows what has become slower or faster between two files of bench/compare.sh.

    python3 bench/compare.py OLD.json NEW.json [--peers] [--relative] [--threshold 5]

The noise is the spread of the launches: a change is called a regression, or a gain, if every launch of
the one file is worse than every launch of the other and the medians are more than --threshold percent
apart. One or two launches have no meaningful spread: they are listed and not judged. Files of different
machines, or of a machine under different load, differ in all figures: --relative judges LCI's ratio to the
best peer of the old file, launch by launch of the same turn.

Exit status: 0 without a regression, 1 with one, 2 if nothing could be judged.
"""

import argparse
import pathlib
import statistics
import sys

from compare_data import Comparison, human

LEAST = 3  # launches needed to judge a spread


def samples(c, key, peer):
    """The launches' figures, or their ratios to those of a peer in the same turns."""
    figure, variant, size = key
    mine = c.turns(figure, variant, size)
    if peer is None:
        return list(mine.values())
    theirs = c.turns(figure, peer, size)
    return [mine[turn] / theirs[turn] for turn in sorted(mine.keys() & theirs.keys())]


def judge(old, new, lower_is_better, threshold):
    """regression, gain, same, or few: too few launches."""
    if min(len(old), len(new)) < LEAST:
        return "few"
    change = statistics.median(new) / statistics.median(old) - 1
    if abs(change) <= threshold or (max(new) >= min(old) and min(new) <= max(old)):
        return "same"
    return "regression" if (change > 0) == lower_is_better else "gain"


def rows(old, new, peers, relative, threshold):
    """(verdict, key, unit, old samples, new samples) of all figures that both files have."""
    for key in old.keys():
        figure, variant, size = key
        about = old.data["figures"][figure]
        if key not in new.keys() or not (peers or about["variants"][variant]["ours"]):
            continue
        peer = old.best_peer(figure, size) if relative else None
        if relative and (peer is None or peer == variant):
            continue
        a, b = samples(old, key, peer), samples(new, key, peer)
        if a and b:
            unit = f"of {peer}" if relative else about["unit"]
            yield judge(a, b, about["lower_is_better"], threshold), key, unit, a, b


def text_of(values, unit):
    show = (lambda v: f"{v:.2f}") if unit.startswith("of ") else (lambda v: human(v, unit))
    return f"{show(statistics.median(values))} [{show(min(values))}-{show(max(values))}]"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("--peers", action="store_true",
                        help="judge the peers' figures as well: they show what the machine does")
    parser.add_argument("--relative", action="store_true", help="judge ratios to the best peer")
    parser.add_argument("--threshold", type=float, default=5,
                        help="percent that medians may move (default 5)")
    args = parser.parse_args()
    old, new = (Comparison.read(path) for path in (args.old, args.new))
    found = list(rows(old, new, args.peers, args.relative, args.threshold / 100))
    print(f"{'':10} {'figure':22} {'configuration':30} {'bytes':>8}  {'old':>24} {'new':>24} change")
    for verdict, (figure, variant, size), unit, a, b in found:
        change = statistics.median(b) / statistics.median(a) - 1
        mark = {"same": "", "few": "few runs"}.get(verdict, verdict)
        print(f"{mark:10} {figure:22} {variant:30} {size:8}  {text_of(a, unit):>24} {text_of(b, unit):>24} "
              f"{change:+6.0%} {unit}")
    lost = [key for key in old.keys()
            if key not in new.keys() and key[1] in old.variants(key[0], ours=True)]
    for figure, variant, size in lost:
        print(f"only old   {figure:22} {variant:30} {size:8}")
    judged = [f for f in found if f[0] != "few"]
    bad = [f for f in found if f[0] == "regression"]
    print(f"{len(judged)} judged, {len(bad)} regressions, {sum(f[0] == 'gain' for f in found)} gains, "
          f"{len(found) - len(judged)} of too few launches, {len(lost)} only in the old file")
    sys.exit(1 if bad else 0 if judged else 2)


if __name__ == "__main__":
    main()
