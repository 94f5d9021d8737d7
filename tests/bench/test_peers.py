"""Programs of bench/peers and lci_perf answer the same questions in the same words. What is not built, or
has no launcher here, skips."""

import json
import os
import pathlib
import shutil
import subprocess
import unittest

import compare_configs

BUILD = pathlib.Path(os.environ["LCI_BUILD"])
SHORT = ("--json", "--rounds", "1", "--iterations", "64")
KEYS = {"op", "metric", "size", "threads", "devices", "unit", "median", "min", "max", "rounds", "ranks",
        "window"}


def run(variant):
    return subprocess.run(variant.command, env={**os.environ, **variant.environment}, capture_output=True,
                          text=True, timeout=120, check=False)


class Peers(unittest.TestCase):
    def check(self, figure, variant):
        done = run(variant)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if not variant.any_status:
            self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        self.assertTrue(lines, done.stderr[-2000:])
        for line in lines:
            if figure.field:
                self.assertGreater(line[figure.field], 0)
                continue
            self.assertLessEqual(KEYS, line.keys())
            self.assertEqual(line["unit"], figure.unit)
            self.assertLessEqual(line["min"], line["median"])
            self.assertLessEqual(line["median"], line["max"])
            self.assertGreater(line["min"], 0)

    def of_library(self, library):
        """Figures that a library takes part in: one process more or less, threads, each operation."""
        if library != "lci" and not (BUILD / "bench/peers" / f"peer_{library}").exists():
            self.skipTest(f"peer_{library} is not built")
        seen = 0
        tried = 0
        # Of the peers' programs, every third figure is tested; with --long all of them.
        step = 1 if library == "lci" or os.environ.get("LCI_TESTS_LONG", "0") != "0" else 3
        for figure in compare_configs.figures(BUILD, SHORT):
            for variant in figure.variants:
                # Threads that wait inside of MPI for each other's core take seconds a window.
                # LCI reaches TCP through libfabric, which may not be here.
                if figure.key.startswith("tcp-") and not (BUILD / "bench/peers/peer_libfabric").exists():
                    continue
                slow = "--threads" in variant.command and library in ("mpich", "openmpi")
                if variant.library != library or slow:
                    continue
                tried += 1
                if tried % step != 0:
                    continue
                if shutil.which(variant.command[0]) is None:
                    self.skipTest(f"no {variant.command[0]}")
                with self.subTest(figure=figure.key, variant=variant.name):
                    self.check(figure, variant)
                    seen += 1
        self.assertGreater(seen, 0)

    def test_lci(self):
        self.of_library("lci")

    def test_mpich(self):
        self.of_library("mpich")

    def test_openmpi(self):
        self.of_library("openmpi")

    def test_openshmem(self):
        self.of_library("openshmem")

    def test_ucx(self):
        self.of_library("ucx")

    def test_libfabric(self):
        self.of_library("libfabric")

    def test_invalid_options_are_refused(self):
        program = BUILD / "bench/peers/peer_ucx"
        if not program.exists():
            self.skipTest("peer_ucx is not built")
        for words in (("atomic", "bandwidth"), ("put", "rate", "--threads", "2"),
                      ("am", "rate", "--size", "4"),
                      ("am", "rate", "--shared", "--dedicated"), ("floor", "handoff")):
            with self.subTest(words=words):
                done = subprocess.run([program, *words], capture_output=True, text=True, timeout=60,
                                      check=False)
                self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()
