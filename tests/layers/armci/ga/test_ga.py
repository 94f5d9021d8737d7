"""Debian's Global Arrays runs on this library, under both MPIs and several launchers, within a host and between hosts."""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

LIBRARY = os.environ["ARMCI_LIBRARY"]
LCIRUN = os.environ["LCIRUN"]
ARCHIVES = pathlib.Path("/usr/lib/x86_64-linux-gnu")
LONG = os.environ.get("LCI_TESTS_LONG", "0") != "0"
OWN_HOSTS, TWO_HOSTS = {"LCI_ATTR_RANKS_PER_HOST": "1"}, {"LCI_ATTR_RANKS_PER_HOST": "2"}


def symbols(*arguments):
    out = subprocess.run(["nm", *arguments], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in out.splitlines() if line.strip() and not line.endswith(":")}


def launcher(mpi, n):
    if mpi == "lcirun":
        return [LCIRUN, "-n", str(n)]
    program = f"mpiexec.{mpi}"
    if shutil.which(program) is None:
        raise unittest.SkipTest(f"{program} is not installed")
    more = ["--allow-run-as-root", "--oversubscribe"] if mpi == "openmpi" else []
    return [program, *more, "-n", str(n)]


class GlobalArrays(unittest.TestCase):
    def run_program(self, program, mpi, n, environment=None, start=None):
        path = os.environ.get(f"GA_{program.upper()}_{mpi.upper()}")
        if path is None:
            self.skipTest(f"libga-{mpi}, its libraries or their headers are not installed")
        done = subprocess.run([*launcher(start or mpi, n), path], capture_output=True, text=True, timeout=150,
                              env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **(environment or {})})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("ok", done.stdout.split(), done.stdout + done.stderr)

    def test_the_library_has_all_that_global_arrays_needs(self):
        archive = ARCHIVES / "libga-mpich.a"
        if not archive.exists():
            self.skipTest("libglobalarrays-dev is not installed")
        mine = re.compile(r"ARMCI_|armci_(?!tcgmsg)")
        wanted = {s for s in symbols("-u", str(archive)) if mine.match(s)}
        inside = symbols("--defined-only", str(archive))
        wanted -= inside
        self.assertEqual(len(wanted), 76, sorted(wanted))
        self.assertEqual(wanted - symbols("-D", "--defined-only", LIBRARY), set())

    def test_patches_within_a_host(self):
        for n in (1, 2, 3, 4) if LONG else (3,):
            with self.subTest(n=n):
                self.run_program("ga_patches", "mpich", n)

    def test_algebra_ghosts_and_groups_within_a_host(self):
        for n in (1, 2, 3, 4) if LONG else (4,):
            with self.subTest(n=n):
                self.run_program("ga_algebra", "mpich", n)

    def test_between_hosts(self):
        for program in ("ga_patches", "ga_algebra"):
            with self.subTest(program=program):
                if LONG or program == "ga_patches":
                    self.run_program(program, "mpich", 3, OWN_HOSTS)
                if LONG or program == "ga_algebra":
                    self.run_program(program, "mpich", 4, TWO_HOSTS)

    def test_with_open_mpi(self):
        for program in ("ga_patches", "ga_algebra") if LONG else ("ga_algebra",):
            with self.subTest(program=program):
                self.run_program(program, "openmpi", 3)

    def test_the_same_source_over_armci_mpi_gives_the_same_answers(self):
        # Both are compared with the model that each program has, all of whose numbers are exact.
        for program in ("ga_patches", "ga_algebra") if LONG else ("ga_patches",):
            with self.subTest(program=program):
                self.run_program(program, "mpich_armci_mpi", 2, start="mpich")

    def test_started_by_lcirun(self):
        self.run_program("ga_patches", "mpich", 2, start="lcirun")


if __name__ == "__main__":
    unittest.main()
