"""LCI v2, LCI v1.7, ARMCI, CCS, Mercury and MPI in one process, under each launcher. together.cpp is the program."""

import os
import shutil
import unittest

import slurm
from others import Launched

# Arguments of the program: for each cycle the order in which the systems are initialized / finalized. L: LCI v2, V: LCI
# v1.7, A: ARMCI, C: CCS, H: Mercury, M: MPI, which a process can initialize only once.
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
                    # Two ranks run all orders and other numbers one; the largest number over TCP, the others over
                    # shared memory. With --long all combinations run.
                    if LONG or network == ('tcp' if n == max(self.numbers) > 2 else 'shm'):
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
    program, numbers = os.environ.get('TOGETHER_MPICH'), (2, 3, 4)
    # MPI first: Slurm accepts one PMI client for each rank, and LCI gets its rank from MPI if MPI is initialized.
    orders = [o for o in ORDERS if o[0].startswith('M')]

    @classmethod
    def setUpClass(cls):
        cls.cluster = slurm.Slurm()
        cls.addClassCleanup(cls.cluster.close)
        cls.env = cls.cluster.env

    def launcher(self, n):
        # One node: Mercury listens on the loopback interface, and some of the systems need shared memory.
        return ['srun', '--mpi=pmi2', '--quiet', '-N1', f'-n{n}']


if __name__ == '__main__':
    unittest.main()
