"""Reads the files of bench/compare_run.py for the report, the plots and bench/compare.py."""

import json
import pathlib
import statistics


class Comparison:
    """The medians of launches, by figure, variant, size and turn. A variant is a configuration of LCI or of a peer
    (another library). In a turn, each variant is launched once."""

    def __init__(self, data):
        self.data = data
        self._by = {}
        for launch in data["launches"]:
            key = (launch["figure"], launch["variant"], launch["size"])
            self._by.setdefault(key, {})[launch["turn"]] = launch["median"]

    @classmethod
    def read(cls, *paths):
        """Reads one file, or several with different figures. The machine and the method are those of the first."""
        data, *more = (json.loads(pathlib.Path(path).read_text()) for path in paths)
        for other in more:
            data["figures"] |= other["figures"]
            data["missing"] |= other["missing"]
            for key in ("launches", "failed"):
                data[key] += other[key]
            for key in data["disturbed"]:
                data["disturbed"][key] += other["disturbed"][key]
        return cls(data)

    def figures(self):
        return self.data["figures"].items()

    def keys(self):
        """The (figure, variant, size) that were measured."""
        return self._by.keys()

    def turns(self, figure, variant, size):
        """turn -> the launch's median; empty if nothing was measured."""
        return self._by.get((figure, variant, size), {})

    def launches(self):
        """The fewest and the most launches that gave a figure: files of one machine may differ."""
        counts = [len(turns) for turns in self._by.values()]
        return min(counts), max(counts)

    def sizes(self, figure, variant):
        return sorted(s for f, v, s in self._by if (f, v) == (figure, variant))

    def median(self, figure, variant, size):
        values = self.turns(figure, variant, size).values()
        return statistics.median(values) if values else None

    def variants(self, figure, ours):
        return [name for name, v in self.data["figures"][figure]["variants"].items() if v["ours"] == ours]

    def best_peer(self, figure, size):
        """The variant of a peer with the best median; None if none was measured."""
        found = [(self.median(figure, name, size), name) for name in self.variants(figure, ours=False)
                 if self.turns(figure, name, size)]
        if not found:
            return None
        return (min if self.data["figures"][figure]["lower_is_better"] else max)(found)[1]

    def ratios(self, figure, variant, size):
        """The ratios of the variant to the best peer, one for each turn in which both were launched."""
        peer = self.best_peer(figure, size)
        if peer is None:
            return []
        mine, theirs = (self.turns(figure, name, size) for name in (variant, peer))
        return [mine[turn] / theirs[turn] for turn in sorted(mine.keys() & theirs.keys())]


def human(value, unit):
    """Three or four digits: 145 ns, 61.3M msg/s, 24446 MB/s."""
    if unit in ("msg/s", "op/s"):
        return f"{value / 1e6:.3g}M" if value >= 1e6 else f"{value / 1e3:.3g}k"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
