"""LCI v2, LCI v1.7, ARMCI, CCS, Mercury and MPI in one process, under each launcher."""

import os
import shutil
import unittest

import slurm
from others import Launched

# MPI is initialized and finalized first, last, and in between; the others several times.
ORDERS = (
    ('MLVACH/HCAVLM',),
    ('LVACHM/MLVACH',),
    ('MLVACH/LVACH', 'HVLCA/CALHV', 'ACLVH/HVMLCA'),
    ('AMLC/CAL', 'VHLAC/HCMAVL'),
)
ROUNDS = 24
LONG = os.environ.get('LCI_TESTS_LONG', '0') != '0'


class Together:
    orders = ORDERS

    def check(self, n, orders, network):
        listen = {'LCI_ATTR_PEER_LISTEN': 'tcp://127.0.0.1:0'} if network == 'tcp' else {}
        out = self.ran(n, self.program, ROUNDS, *orders, LCI_ATTR_BACKEND=network, **listen)
        self.assertEqual(out.count('1 passed, 0 failed'), n, out)

    def test_six_systems_work_at_once_and_in_turn(self):
        for n in self.numbers:
            for network in ('shm', 'tcp'):
                for orders in self.orders if n == 2 else ORDERS[2:3]:
                    # All orders over shared memory, and one order with the largest number of ranks over TCP; with --long
                    # all combinations.
                    if LONG or (network == 'shm' if n == 2 else network == 'tcp' and n == max(self.numbers)):
                        with self.subTest(ranks=n, network=network, orders=orders):
                            self.check(n, orders, network)


@unittest.skipUnless(os.environ.get('TOGETHER_MPICH'), 'MPICH (Debian: libmpich-dev) is not installed')
class UnderLcirun(Together, Launched):
    program, numbers = os.environ.get('TOGETHER_MPICH'), (2, 3, 4)

    def launcher(self, n):
        return [os.environ['LCIRUN'], '-n', n]


@unittest.skipUnless(os.environ.get('TOGETHER_MPICH') and shutil.which('mpiexec.hydra'),
                     'MPICH (Debian: mpich, libmpich-dev) is not installed')
class Mpich(Together, Launched):
    program, numbers = os.environ.get('TOGETHER_MPICH'), (2, 3, 4)
    orders = ORDERS if LONG else ORDERS[:2]

    def launcher(self, n):
        return ['mpiexec.hydra', '-n', n]


@unittest.skipUnless(os.environ.get('TOGETHER_OPENMPI') and shutil.which('mpirun.openmpi'),
                     'Open MPI (Debian: openmpi-bin, libopenmpi-dev) is not installed')
class OpenMpi(Together, Launched):
    program, numbers = os.environ.get('TOGETHER_OPENMPI'), (2,)
    orders = ORDERS if LONG else ORDERS[1:3]

    def launcher(self, n):
        return ['mpirun.openmpi', '--allow-run-as-root', '--oversubscribe', '-n', n]


@unittest.skipIf(slurm.missing() or not os.environ.get('TOGETHER_MPICH'), slurm.missing() or 'MPICH is not installed')
class Slurm(Together, Launched):
    program, numbers = os.environ.get('TOGETHER_MPICH'), (2, 4)
    # MPI first: Slurm accepts one PMI client for each rank, and LCI gets its rank from MPI if MPI is initialized.
    orders = [o for o in ORDERS if o[0].startswith('M')]

    @classmethod
    def setUpClass(cls):
        cls.cluster = slurm.Slurm()
        cls.addClassCleanup(cls.cluster.close)
        cls.env = cls.cluster.env

    def launcher(self, n):
        # One node, since Mercury's names are addresses of the loopback interface, and systems need shared memory.
        return ['srun', '--mpi=pmi2', '--quiet', '-N1', f'-n{n}']


if __name__ == '__main__':
    unittest.main()
