"""A program of MPI prints the same over the subset on CCS and over MPICH: bounds of random derived types, and checksums
of the memory of each process after each step."""

import os
import shutil
import subprocess
import unittest

LCIRUN, OURS = os.environ["LCIRUN"], os.environ["CCS_MPI_PROGRAM"]
MPICH = os.environ.get("CCS_MPICH_PROGRAM")
LONG = os.environ.get("LCI_TESTS_LONG", "0") != "0"


def output(*words, **env):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **env})
    return done.returncode, done.stdout, done.stderr


class SameProgram(unittest.TestCase):
    def ours(self, n, seed, steps, network):
        code, out, err = output(LCIRUN, "-n", n, OURS, seed, steps, LCI_ATTR_BACKEND=network)
        self.assertEqual(code, 0, out[-2000:] + err)
        self.assertEqual(out.count("broadcast"), steps, out[-2000:])
        self.assertNotIn("wrong", out)
        return out

    @unittest.skipUnless(MPICH and shutil.which("mpiexec.hydra"),
                         "MPICH (Debian: mpich, libmpich-dev) is not installed")
    def test_random_types_give_what_mpich_gives(self):
        for n, seed, steps, network in ((2, 1, 40, "shm"), (3, 2, 30, "shm"), (2, 3, 30, "tcp")) + \
                tuple((2, s, 100, "shm") for s in range(4, 24) if LONG):
            with self.subTest(ranks=n, seed=seed, network=network):
                code, theirs, err = output("mpiexec.hydra", "-n", n, MPICH, seed, steps)
                self.assertEqual(code, 0, theirs[-2000:] + err)
                ours = self.ours(n, seed, steps, network)
                self.assertEqual(ours.splitlines(), theirs.splitlines())

    def test_a_broadcast_makes_the_memory_of_all_processes_equal(self):
        """Also where there is no MPICH."""
        for line in self.ours(3, 7, 20, "shm").splitlines():
            if line.startswith("broadcast"):
                self.assertEqual(len(set(line.split(":")[1].split())), 1, line)


if __name__ == "__main__":
    unittest.main()
