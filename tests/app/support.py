"""Runs kmer_count, alone or under lcirun, and jellyfish to compare with."""

import gzip
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

KMER_COUNT = os.environ["KMER_COUNT"]
LCIRUN = os.environ["LCIRUN"]
TIMEOUT = 240

# (ranks, threads, options): shapes of a job, each with its way of receiving and its devices
ALONE = (1, 1, ())
SHAPES = (
    ALONE,
    (1, 3, ()),
    (2, 1, ()),
    (2, 2, ()),
    (2, 2, ("--devices", "shared")),
    (2, 2, ("--comp", "cq")),
    (2, 2, ("--comp", "cq", "--devices", "shared")),
    (3, 2, ("--aggregate", "64KiB")),
    (4, 1, ("--aggregate", "100")),
    (2, 2, ("--no-filter",)),
    (2, 2, ("--expected-kmers", "500")),
)

needs_jellyfish = unittest.skipUnless(shutil.which("jellyfish"), "jellyfish is not installed")


class Scratch(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kmer_count_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def packed(self, path):
        """A compressed copy."""
        copy = self.folder / (path.name + ".gz")
        copy.write_bytes(gzip.compress(path.read_bytes(), 6))
        return copy

    def unpacked(self, path):
        """A plain copy of a compressed file."""
        copy = self.folder / path.name.removesuffix(".gz")
        copy.write_bytes(gzip.decompress(path.read_bytes()))
        return copy

    def jellyfish(self, k, *files):
        """Jellyfish's histogram of canonical k-mers, all lines."""
        data = self.folder / "jellyfish.jf"
        subprocess.run(["jellyfish", "count", "-C", "-m", str(k), "-s", "1M", "-t", "2",
                        "-o", data, *files], check=True, timeout=TIMEOUT)
        return subprocess.run(["jellyfish", "histo", data], check=True, text=True,
                              capture_output=True, timeout=TIMEOUT).stdout

    def start(self, shape, *arguments):
        """The finished process of a job with this shape."""
        ranks, threads, options = shape
        launcher = [LCIRUN, "-n", str(ranks)] if ranks > 1 else []
        return subprocess.run([*launcher, KMER_COUNT, "-t", str(threads), *options,
                               *map(str, arguments)],
                              capture_output=True, text=True, timeout=TIMEOUT)

    def count(self, shape, *arguments):
        """The histogram that a job with this shape prints."""
        done = self.start(shape, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout
