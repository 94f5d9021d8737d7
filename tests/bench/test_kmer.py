"""bench/kmer.sh: the counter on LCI and on MPI, processes and threads in each way, counts the same."""

import os
import pathlib
import random
import shutil
import tempfile
import time
import unittest
from unittest import mock

import compare_configs
import compare_run
import kmer

BUILD = pathlib.Path(os.environ["LCI_BUILD"])


def is_alive(pid):
    """Whether it runs: not if only its exit status is left."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


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

    def test_a_launch_that_hangs_is_ended_with_its_processes(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "pid"
            hangs = compare_configs.Variant("a", "mpich", ("sh", "-c", f"sleep 60 & echo $! > {file}; wait"))
            with mock.patch.object(compare_run, "PATIENCE", 1), self.assertRaisesRegex(RuntimeError, "not done after"):
                kmer.Launcher(attempts=1).once(hangs)
            pid = file.read_text().strip()
        end = time.monotonic() + 10  # the signal was sent; when it takes effect is the system's affair
        while is_alive(pid) and time.monotonic() < end:
            time.sleep(0.01)
        self.assertFalse(is_alive(pid))


if __name__ == "__main__":
    unittest.main()
