"""The PMI-1 client under MPICH's own launcher. Skipped where that is not installed."""

import re
import shutil
import unittest

from support import HELPER, run

MPIEXEC = shutil.which('mpiexec.hydra')
WAYS = (('PMI_FD', []), ('PMI_PORT', ['-pmi-port']))


@unittest.skipUnless(MPIEXEC, 'mpiexec.hydra (Debian package mpich) is not installed')
class Hydra(unittest.TestCase):
    def test_ranks_are_numbered_and_exchange_values(self):
        for name, options in WAYS:
            with self.subTest(way=name):
                result = run(MPIEXEC, *options, '-n', 4, HELPER, 'exchange', 2)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(sorted(re.findall(r'rank=(\d)', result.stdout)), list('0123'))

    def test_all_ranks_have_one_job_id_that_differs_between_jobs(self):
        ids = []
        for _ in range(2):
            result = run(MPIEXEC, '-n', 3, HELPER, 'info')
            found = set(re.findall(r'job=(\S+)', result.stdout))
            self.assertEqual(len(found), 1, result.stdout)
            ids += found
        self.assertNotEqual(ids[0], ids[1])

    def test_missing_keys_and_misuse_are_refused_and_a_second_runtime_works(self):
        for _, options in WAYS:
            for what in ('misuse', 'twice'):
                result = run(MPIEXEC, *options, '-n', 3, HELPER, what)
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_abort_ends_the_job(self):
        for _, options in WAYS:
            result = run(MPIEXEC, *options, '-n', 3, HELPER, 'abort', 1, 5)
            self.assertEqual(result.returncode, 5, result.stderr)

    def test_a_job_of_several_proxies_runs(self):
        result = run(MPIEXEC, '-launcher', 'fork', '-hosts', 'h1,h2', '-ppn', 2, '-n', 4, HELPER,
                     'exchange', 1)
        self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == '__main__':
    unittest.main()
