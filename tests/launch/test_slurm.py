"""Jobs under a real Slurm: two nodes of this machine, PMI-1, PMI-2 and PMIx."""

import os
import re
import signal
import sys
import unittest
from textwrap import indent

import slurm
from others import Common, Launched
from support import HELPER, free_ports, wait_until

WHY_NOT = slurm.missing()
# Output after Debian 12's slurmstepd has crashed or hung while it finalizes PMIx; and after its PMIx server has failed
# in a fence, so that the ranks fail.
STEP_FAILED = re.compile('io error with slurmstepd|Timed out waiting for job step|error reading header')
RANK_FAILED = re.compile('Exited with exit code|Aborted|Segmentation|HUNG|FAILED')
SERVER_FAILED = re.compile(r'PMIX ERROR: .* in file \S*/src/server/')
NO_PMIX = '' if os.environ['WITH_PMIX'] == 'true' else 'built without PMIx (Debian: libpmix-dev)'


class OnSlurm(Launched):
    mpi = 'none'
    cluster = None

    def setUp(self):
        super().setUp()
        # One for all tests: it takes a second to start.
        if OnSlurm.cluster is None:
            OnSlurm.cluster = slurm.Slurm()
            unittest.addModuleCleanup(OnSlurm.cluster.close)
        self.env = {**type(self).env, **self.cluster.env}
        self.assertTrue(wait_until(lambda: not self.cluster.job_processes()))

    def tearDown(self):
        super().tearDown()  # checks that no rank is left; what may remain belongs to Slurm
        if not wait_until(lambda: not self.cluster.job_processes(), 10):
            self.cluster.end_leftovers()
        self.assertTrue(wait_until(lambda: not self.cluster.job_processes()),
                        f'left: {[(p, slurm.name_of(p)) for p in self.cluster.job_processes()]}')

    def ran(self, n, *words, code=0, **env):
        """As with any launcher, but repeated if Slurm reports that it has failed itself."""
        for attempt in (1, 2, 3):
            try:
                return super().ran(n, *words, code=code, **env)
            except AssertionError as e:
                said = str(e)
                step_failed = STEP_FAILED.search(said) and not RANK_FAILED.search(said)
                if attempt == 3 or not (step_failed or SERVER_FAILED.search(said)):
                    raise AssertionError(f'{self.cluster.said()}\n{said}') from None
                # Indented, so that summary.py does not take it for a result of this test.
                print(f'\nREPEATED: {self.id()}: Slurm has failed, not the ranks\n{indent(said, "| ")}',
                      file=sys.stderr)

    def launcher(self, n):
        return ['srun', f'--mpi={self.mpi}', '--quiet', '-N2', f'-n{n}', '--ntasks-per-node', n // 2]


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Pmi2Plugin(Common, OnSlurm):
    mpi, kind = 'pmi2', 'pmi1'


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Pmi2Library(OnSlurm):
    mpi, env = 'pmi2', {'LCI_ATTR_BOOTSTRAP': 'pmi2'}

    def test_ranks_exchange_values_and_misuse_is_refused(self):
        out = self.ran(4, HELPER, 'info')
        self.assertEqual(out.count('kind=pmi2'), 4, out)
        self.assertEqual(out.count('local=1/2'), 2, out)
        self.assertEqual(self.ran(4, HELPER, 'exchange', 2).count('exchanged'), 4)
        self.ran(4, HELPER, 'misuse')
        self.ran(4, HELPER, 'fork')

    def test_a_late_rank_times_out_as_configured(self):
        out = self.ran(4, HELPER, 'late', 2, 6, code=None, LCI_ATTR_BOOTSTRAP_TIMEOUT=1)
        self.assertIn('PMI2_KVS_Fence has not returned in time', out)
        self.assertIn('LCI_ATTR_BOOTSTRAP_TIMEOUT', out)

    def test_a_start_without_the_pmi2_plugin_is_refused(self):
        self.mpi = 'none'
        self.assertIn('PMI_RANK is not set', self.ran(2, HELPER, 'info', code=9))


@unittest.skipIf(WHY_NOT or NO_PMIX, WHY_NOT or NO_PMIX)
class PmixPlugin(Common, OnSlurm):
    mpi, kind = 'pmix', 'pmix'


@unittest.skipIf(WHY_NOT, WHY_NOT)
class NoPlugin(OnSlurm):
    def test_ranks_without_a_pmi_plugin_do_not_become_jobs_of_one_rank(self):
        out = self.ran(4, HELPER, 'info', code=9)
        self.assertEqual(out.count('SLURM_STEP_NUM_TASKS=4'), 4, out)
        self.assertIn('--mpi=pmi2', out)

    def test_ranks_connect_over_tcp_on_request(self):
        port = free_ports(1)[0]
        out = self.ran(4, HELPER, 'info', LCI_TCP_ROOT=f'127.0.0.1:{port}')
        self.assertEqual(out.count('kind=tcp'), 4, out)

    def test_a_batch_script_is_a_job_of_one_rank_and_can_start_jobs(self):
        output = f'{self.cluster.top}/batch'
        done = self.cluster.command('sbatch', '--wait', '-N2', '-n4', '-o', output, '--wrap',
                                    f'{HELPER} info; srun --mpi=pmi2 {HELPER} info')
        with open(output) as f:
            out = f.read()
        self.assertEqual(done.returncode, 0, out + done.stderr)
        self.assertIn('kind=local rank=0 size=1', out)
        self.assertEqual(out.count('kind=pmi1'), 4, out)


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Killed(OnSlurm):
    mpi = 'pmi2'

    def test_nothing_is_left_of_a_killed_srun(self):
        process = self.begin(4, HELPER, 'late', 1, 600)
        self.ranks(4, process)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        # Slurm does not detect that; the user, or the administrator, ends the job.
        self.cluster.command('scancel', '--full', '--user=root')


if __name__ == '__main__':
    unittest.main()
