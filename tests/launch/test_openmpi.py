"""Jobs under Open MPI's own launcher, which uses PMIx."""

import os
import shutil
import unittest

from others import Common, Launched

MPIRUN = shutil.which('mpirun.openmpi')
WHY_NOT = ('mpirun.openmpi (Debian: openmpi-bin) is not installed' if not MPIRUN
           else 'built without PMIx (Debian: libpmix-dev)' if os.environ['WITH_PMIX'] != 'true' else '')


@unittest.skipIf(WHY_NOT, WHY_NOT)
class OpenMpi(Common, Launched):
    kind = 'pmix'

    def launcher(self, n):
        return [MPIRUN, '--allow-run-as-root', '--oversubscribe', '-n', n]


if __name__ == '__main__':
    unittest.main()
