"""Programs with MPI: ranks, groups, both orders of the two ends and of the starts, and progress while a process is inside
of MPI's barrier;
under the launchers of both MPIs, lcirun and Slurm."""

import os
import shutil
import subprocess
import unittest

import slurm
from support import clean_environment

LCIRUN = os.environ["LCIRUN"]
FAR = {"LCI_ATTR_RANKS_PER_HOST": "1"}
ENDS = ("armci", "mpi", "finalized", "early")


def launcher(name, n):
    if name == "lcirun":
        return [LCIRUN, "-n", str(n)]
    more = ["--allow-run-as-root", "--oversubscribe"] if name == "openmpi" else []
    return [f"mpiexec.{name}", *more, "-n", str(n)]


class BesideMpi(unittest.TestCase):
    def program(self, program, mpi):
        path = os.environ.get(f"{program.upper()}_{mpi.upper()}")
        if path is None or shutil.which(f"mpiexec.{mpi}") is None:
            self.skipTest(f"{mpi}, its headers or its launcher are not installed")
        return path

    def run_program(self, words, environment=None):
        done = subprocess.run(words, capture_output=True, text=True, timeout=120,
                              env=clean_environment(**(environment or {})))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def both_orders(self, mpi, start, n, environment=None):
        path = self.program("beside_mpi", mpi)
        for end in ENDS:
            with self.subTest(end=end, environment=environment):
                self.assertEqual(self.run_program([*launcher(start, n), path, end], environment), "ok\n")

    def test_either_may_end_first_under_mpich(self):
        self.both_orders("mpich", "mpich", 3)
        self.both_orders("mpich", "mpich", 2, FAR)

    def test_either_may_end_first_under_open_mpi(self):
        self.both_orders("openmpi", "openmpi", 3)
        self.both_orders("openmpi", "openmpi", 2, FAR)

    def test_either_may_end_first_under_lcirun(self):
        self.both_orders("mpich", "lcirun", 3)

    def test_either_may_end_first_under_slurm(self):
        if reason := slurm.missing():
            self.skipTest(reason)
        path = self.program("beside_mpi", "mpich")
        cluster = slurm.Slurm()
        try:
            for end in set(ENDS) - {"early"}:  # Slurm accepts one client for each rank, so MPI must be first
                with self.subTest(end=end):
                    out = self.run_program(["srun", "--mpi=pmi2", "--quiet", "-N2", "-n4", path, end], cluster.env)
                    self.assertEqual(out, "ok\n")
        finally:
            cluster.close()

    def test_a_process_in_the_barrier_of_mpi_delays_no_other_process(self):
        for mpi in ("mpich", "openmpi"):
            for environment in ({}, FAR):
                with self.subTest(mpi=mpi, environment=environment):
                    path = self.program("one_sided", mpi)
                    out = self.run_program([*launcher(mpi, 2), path], environment)
                    self.assertEqual(out.count("rmw"), 2, out)


if __name__ == "__main__":
    unittest.main()
