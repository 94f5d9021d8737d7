"""Programs that use MPI and LCI: both give the same ranks, and either may begin and end first."""

import os
import re
import shutil
import unittest

from others import Launched

# What mpi_helper does: M and m begin and end MPI, L and l LCI. After each step both are used.
ORDERS = ('MLlm', 'MLml', 'LMml', 'LMlm')


class Programs:
    # A rank that waits in MPI makes no progress in LCI, for which other ranks may wait.
    env = {'LCI_ATTR_PROGRESS_THREAD': 'event'}

    def good(self, steps, n=2, **env):
        out = self.ran(n, self.program, steps, **env)
        self.assertEqual(sorted(re.findall(r'good rank=(\d+) size=(\d+)', out)),
                         [(str(r), str(n)) for r in range(n)], out)

    def test_mpi_and_lci_may_begin_and_end_in_any_order(self):
        for steps in ORDERS:
            with self.subTest(steps=steps):
                self.good(steps)

    def test_ranks_can_be_taken_from_mpi(self):
        for steps in ('MLlm', 'MLml', 'MLdlm', 'Lil', 'Lli'):
            with self.subTest(steps=steps):
                self.good(steps, LCI_ATTR_BOOTSTRAP='mpi')

    def test_ranks_can_be_taken_from_the_launcher_while_mpi_runs(self):
        self.good('MLml', LCI_ATTR_BOOTSTRAP=self.other)

    def test_messages_that_wait_for_room_are_sent_during_a_collective_allocation(self):
        self.env = {}
        for kind in ('mpi', self.other):
            with self.subTest(kind):
                self.good('Lwl', LCI_ATTR_BOOTSTRAP=kind)

    def test_ranks_cannot_be_taken_from_mpi_after_its_end(self):
        out = self.ran(2, self.program, 'MmL', code=None, LCI_ATTR_BOOTSTRAP='mpi')
        self.assertIn('MPI_Finalize has been called', out)


@unittest.skipUnless(os.environ.get('MPI_HELPER_MPICH') and shutil.which('mpiexec.hydra'),
                     'MPICH (Debian: mpich, libmpich-dev) is not installed')
class Mpich(Programs, Launched):
    program, other = os.environ.get('MPI_HELPER_MPICH'), 'pmi1'

    def launcher(self, n):
        return ['mpiexec.hydra', '-n', n]


@unittest.skipUnless(os.environ.get('MPI_HELPER_OPENMPI') and shutil.which('mpirun.openmpi'),
                     'Open MPI (Debian: openmpi-bin, libopenmpi-dev) is not installed')
class OpenMpi(Programs, Launched):
    program, other = os.environ.get('MPI_HELPER_OPENMPI'), 'pmix'

    def launcher(self, n):
        return ['mpirun.openmpi', '--allow-run-as-root', '--oversubscribe', '-n', n]


@unittest.skipUnless(os.environ.get('MPI_HELPER_MPICH'), 'MPICH (Debian: libmpich-dev) is not installed')
class UnderLcirun(Programs, Launched):
    program, other = os.environ.get('MPI_HELPER_MPICH'), 'pmi1'

    def launcher(self, n):
        return [os.environ['LCIRUN'], '-n', n]


if __name__ == '__main__':
    unittest.main()
