"""Jobs under MPICH's own launcher, through an inherited descriptor and a port."""

import shutil
import unittest

from others import Common, Launched
from support import HELPER

MPIEXEC = shutil.which('mpiexec.hydra')
WHY_NOT = '' if MPIEXEC else 'mpiexec.hydra (Debian package mpich) is not installed'


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Descriptor(Common, Launched):
    kind = 'pmi1'

    def launcher(self, n):
        return [MPIEXEC, '-n', n]

    def test_ranks_can_use_the_pmi2_library(self):
        if not shutil.which('srun'):
            self.skipTest('there is no PMI-2 library (Debian: libpmi2-0)')
        out = self.ran(4, HELPER, 'exchange', 1, LCI_ATTR_BOOTSTRAP='pmi2')
        self.assertEqual(out.count('exchanged'), 4, out)


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Port(Descriptor):
    def launcher(self, n):
        return [MPIEXEC, '-pmi-port', '-n', n]

    test_ranks_can_use_the_pmi2_library = None  # it does not support ports


if __name__ == '__main__':
    unittest.main()
