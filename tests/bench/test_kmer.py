"""bench/kmer.sh: the counter on LCI and on MPI, processes and threads in each way, counts the same."""

import os
import pathlib
import random
import shutil
import tempfile
import unittest

import compare_run
import kmer

BUILD = pathlib.Path(os.environ["LCI_BUILD"])


class Kmer(unittest.TestCase):
    def test_all_count_the_same(self):
        missing = {p for p in ("mpich", "openmpi") if not (BUILD / f"bench/kmer/kmer_count_{p}").exists()
                   or shutil.which(f"mpiexec.{p}") is None}
        dice = random.Random(7)
        with tempfile.TemporaryDirectory() as folder:
            reads = pathlib.Path(folder) / "reads.fa"
            genome = "".join(dice.choices("ACGT", k=20000))
            places = [dice.randrange(len(genome) - 150) for _ in range(4000)]
            reads.write_text("".join(f">{i}\n{genome[at:at + 150]}\n" for i, at in enumerate(places)))
            launch = kmer.Launcher(attempts=1)
            launches, failed = compare_run.run(kmer.figures(BUILD, [reads], 2), 1, launch, missing, lambda text: None)
        self.assertEqual(failed, [])
        self.assertEqual(len(launches), 4 * (3 - len(missing)) + 2)
        self.assertIsNotNone(launch.histogram)
        for entry in launches:
            self.assertGreater(entry["median"], 0)


if __name__ == "__main__":
    unittest.main()
