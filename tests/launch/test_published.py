"""Variables of published programs and scripts: the kind of bootstrap that they choose, and ranks that connect through
a file."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from support import HELPER, PATIENCE, LaunchTest, clean_environment, free_ports, lcirun, run, wait_until

HELLO = os.environ['HELLO']


class Started(LaunchTest):
    """Ranks that are started separately."""

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def begin(self, *words, **env):
        env = {'LCI_ATTR_BOOTSTRAP_TIMEOUT': 30, **env, self.mark: 1}
        process = subprocess.Popen([HELPER, *map(str, words)], stdin=subprocess.DEVNULL, text=True, cwd=self.folder,
                                   env=clean_environment(**{k: v for k, v in env.items() if v is not None}),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, errors='replace')
        self.addCleanup(self._close, process)
        return process

    def end(self, process, code=0):
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, code, out + err)
        return out + err


class Lists(Started):
    def test_the_first_kind_that_the_environment_has_is_used(self):
        port = free_ports(1)[0]
        tcp = {'RANK': 0, 'WORLD_SIZE': 1, 'MASTER_ADDR': '127.0.0.1', 'MASTER_PORT': port}
        for kind, env in (('local', {'LCT_PMI_BACKEND': 'pmi1,pmi2,pmix,mpi,tcp,file,local'}),
                          ('local', {'LCT_PMI_BACKEND': 'pmix;pmi2;pmi1;mpi;tcp;file;local'}),
                          ('file', {'LCT_PMI_BACKEND': 'file,local', 'LCT_PMI_FILE_NRANKS': 1}),
                          ('local', {'LCT_PMI_BACKEND': 'local,file', 'LCT_PMI_FILE_NRANKS': 1}),
                          ('file', {'LCT_PMI_FILE_NRANKS': 1}),
                          ('local', {'LCT_PMI_BACKEND': 'file', 'LCT_PMI_FILE_NRANKS': 1,
                                     'LCI_ATTR_BOOTSTRAP': 'local'}),
                          ('file', {'LCT_PMI_BACKEND': 'pmix,file', 'LCT_PMI_FILE_NRANKS': 1, **tcp})):
            with self.subTest(env=env):
                self.assertIn(f'kind={kind} rank=0 size=1', self.end(self.begin('info', **env)))

    def test_the_list_chooses_between_two_launchers(self):
        result = run(HELPER, 'info', PMI_RANK=0, PMI_SIZE=4, PMI_FD=99, LCT_PMI_BACKEND='local')
        self.assertIn('kind=local rank=0 size=1', result.stdout, result.stderr)

    def test_a_kind_that_fails_is_followed_by_the_next(self):
        # lcirun sets the variables of PMI-2 as well, but does not speak it. The second list is the published default.
        for backends in ('pmi2,pmi1', 'pmix;pmi2;pmi1;mpi;tcp;file;local'):
            with self.subTest(backends=backends):
                result = lcirun('-n', 2, HELPER, 'exchange', 1, LCT_PMI_BACKEND=backends)
                self.assertEqual(result.returncode, 0, result.stderr)
                result = lcirun('-n', 2, HELPER, 'info', LCT_PMI_BACKEND=backends)
                for rank in range(2):
                    self.assertIn(f'kind=pmi1 rank={rank} size=2', result.stdout, result.stderr)
                self.assertIn(f"LCT_PMI_BACKEND={backends}: pmi2 can't be used: ", result.stderr)
                self.assertIn('; pmi1 is tried instead', result.stderr)

    def test_a_kind_that_fails_is_not_followed_by_local(self):
        result = lcirun('-n', 2, HELPER, 'info', LCT_PMI_BACKEND='pmi2,local')
        self.assertNotEqual(result.returncode, 0, result.stdout)
        self.assertNotIn('kind=local', result.stdout)

    def test_kinds_behind_the_one_that_is_used_are_not_looked_at(self):
        result = lcirun('-n', 1, HELPER, 'info', LCT_PMI_BACKEND='pmi1,tcp', LCT_MASTER_ADDR='half.of.a.pair')
        self.assertIn('kind=pmi1 rank=0 size=1', result.stdout, result.stderr)

    def test_unavailable_kinds_are_errors(self):
        for wanted, env in {
                'LCT_PMI_BACKEND=smoke is not a kind of bootstrap': {'LCT_PMI_BACKEND': 'file,smoke'},
                'LCT_PMI_BACKEND=tcp names no way': {'LCT_PMI_BACKEND': 'tcp'},
                'LCT_PMI_BACKEND=pmi1,pmix names no way': {'LCT_PMI_BACKEND': 'pmi1,pmix'},
                'has variables (`file` needs LCT_PMI_FILE_NRANKS): ': {'LCT_PMI_BACKEND': 'file'},
                'LCT_PMI_FILE_NRANKS=0 is not a number from 1 to 2147483647': {'LCT_PMI_FILE_NRANKS': 0},
                'LCT_PMI_FILE_NRANKS=two is not a number': {'LCT_PMI_FILE_NRANKS': 'two'},
                'LCT_PMI_FILE_NRANKS is not set': {'LCI_ATTR_BOOTSTRAP': 'file'},
                'folder that all ranks may write to': {'LCT_PMI_FILE_NRANKS': 1,
                                                       'LCT_PMI_FILE_NAME': '/no/such/folder/x'},
                }.items():
            with self.subTest(wanted=wanted):
                self.assertIn(wanted, self.end(self.begin('info', **env), 9))

    def test_a_list_that_ends_as_a_job_of_one_rank_is_reported(self):
        output = self.end(self.begin('info', LCT_PMI_BACKEND='file,local'))
        self.assertIn('kind=local', output)
        self.assertIn('LCT_PMI_FILE_NRANKS is not set: this process is a job of one rank', output)
        for env in ({'LCT_PMI_BACKEND': 'pmix,local', 'PMI_RANK': 1, 'PMI_SIZE': 4, 'PMI_FD': 99},
                    {'LCT_PMI_BACKEND': 'pmix,local', 'PMI_RANK': 1, 'PMI_SIZE': 4, 'PMI_PORT': '127.0.0.1:9'},
                    {'LCT_PMI_BACKEND': 'tcp;local', 'PMI_RANK': 1, 'PMI_SIZE': 4, 'PMI_FD': 99}):
            with self.subTest(env=env):
                output = self.end(self.begin('info', **env))
                self.assertIn('kind=local rank=0 size=1', output)
                self.assertIn('has started 4 ranks: this process is a job of one rank', output)
        output = self.end(self.begin('info', LCT_PMI_BACKEND='local,pmi1', PMI_RANK=1, PMI_SIZE=4, PMI_FD=99))
        self.assertNotIn('a job of one rank', output)  # it was requested

    def test_processes_of_a_launcher_that_simulate_their_ranks_are_reported(self):
        warning = 'this process is a job of its own, although a launcher has started 2;'
        result = lcirun('-n', 2, HELLO, LCI_ATTR_BACKEND='sim')
        self.assertEqual((result.returncode, result.stderr.count(warning)), (0, 2), result.stderr)
        for n, env in ((1, {}), (2, {'LCI_ATTR_BOOTSTRAP': 'none'})):
            result = lcirun('-n', n, HELLO, LCI_ATTR_BACKEND='sim', **env)
            self.assertEqual((result.returncode, result.stderr), (0, ''))


class Pairs(Started):
    def ranks(self, *words, **env):
        return [self.begin(*words, RANK=r, WORLD_SIZE=2, **env) for r in range(2)]

    def test_each_pair_of_variables_gives_rank_and_size(self):
        for prefix in ('LCT_', 'LCI_', ''):
            with self.subTest(prefix=prefix):
                env = {prefix + 'MASTER_ADDR': '127.0.0.1', prefix + 'MASTER_PORT': free_ports(1)[0],
                       'LCT_PMI_BACKEND': 'tcp'}
                for r, process in enumerate(self.ranks('info', **env)):
                    self.assertIn(f'kind=tcp rank={r} size=2', self.end(process))

    def test_the_first_pair_has_precedence(self):
        good, bad = free_ports(2)
        env = {'LCT_MASTER_ADDR': '127.0.0.1', 'LCT_MASTER_PORT': good, 'MASTER_ADDR': 'no.such.host.invalid',
               'MASTER_PORT': bad}
        for process in self.ranks('exchange', 1, **env):
            self.end(process)

    def test_prefixes_are_not_mixed(self):
        for wanted, env in {
                'LCT_MASTER_PORT is not set': {'LCT_MASTER_ADDR': '127.0.0.1', 'MASTER_PORT': 1},
                'LCI_MASTER_ADDR is not set': {'LCI_MASTER_PORT': 5, 'MASTER_ADDR': 'x', 'MASTER_PORT': 1},
                'LOCAL_RANK': {'MASTER_ADDR': 'x', 'MASTER_PORT': 1, 'LOCAL_RANK': 2, 'LOCAL_WORLD_SIZE': 2}}.items():
            with self.subTest(wanted=wanted):
                result = run(HELPER, 'info', RANK=0, WORLD_SIZE=2, **env)
                self.assertEqual(result.returncode, 9)
                self.assertIn(wanted, result.stderr)

    def test_the_published_timeout_is_used(self):
        begin = time.monotonic()
        output = self.end(self.begin('info', RANK=0, WORLD_SIZE=2, MASTER_ADDR='127.0.0.1',
                                     MASTER_PORT=free_ports(1)[0],
                                     LCT_PMI_TCP_TIMEOUT_SEC=1, LCI_ATTR_BOOTSTRAP_TIMEOUT=None), 9)
        self.assertIn('rank 1', output)
        self.assertLess(time.monotonic() - begin, 30)


class File(Started):
    def setUp(self):
        super().setUp()
        self.env = {'LCT_PMI_BACKEND': 'file,local', 'LCT_PMI_FILE_NAME': self.folder / 'job'}

    def ranks(self, n, *words, **env):
        return [self.begin(*words, **{**self.env, 'LCT_PMI_FILE_NRANKS': n, **env}) for _ in range(n)]

    def left(self):
        return sorted(p.name for p in self.folder.iterdir())

    def test_ranks_are_numbered_in_order_of_arrival_and_exchange_values(self):
        for n in (1, 2, 5):
            output = ''.join(self.end(p) for p in self.ranks(n, 'exchange', 3))
            self.assertEqual(sorted(line for line in output.splitlines() if 'exchanged' in line),
                             [f'exchanged rank={r}' for r in range(n)])
            self.assertEqual(self.left(), [])  # the last one removes the file

    def test_successive_jobs_use_one_file(self):
        ids = set()
        for _ in range(3):
            output = [self.end(p) for p in self.ranks(3, 'info')]
            self.assertEqual(sorted(s.split('rank=')[1].split()[0] for s in output), ['0', '1', '2'])
            ids |= {s.split('job=')[1].split()[0] for s in output}
        self.assertEqual(len(ids), 3)

    def test_the_default_file_is_in_the_current_folder(self):
        for p in self.ranks(2, 'exchange', 1, LCT_PMI_FILE_NAME=None):
            self.end(p)

    def test_misuse_and_forks_are_refused_and_a_second_runtime_works(self):
        for what in ('misuse', 'twice', 'fork'):
            with self.subTest(what):
                for p in self.ranks(3, what):
                    self.end(p)

    def test_missing_ranks_are_named(self):
        env = {**self.env, 'LCT_PMI_FILE_NRANKS': 3, 'LCI_ATTR_BOOTSTRAP_TIMEOUT': 1}
        output = self.end(self.begin('info', **env), 9)
        self.assertIn('ranks 1 and 2 did not come', output)
        for p in self.ranks(3, 'info'):  # what is left of that job does not affect the next
            self.end(p)

    def test_a_rank_that_ends_is_named(self):
        processes = self.ranks(3, 'signal', 1, signal.SIGKILL)
        output = [p.communicate(timeout=PATIENCE) for p in processes]
        codes = sorted(p.returncode for p in processes)
        self.assertEqual(codes, [-signal.SIGKILL, 9, 9], output)
        self.assertEqual(sum('rank 1 ended before the exchange' in err for _, err in output), 2, output)

    def test_an_abort_reaches_ranks_in_a_fence(self):
        processes = self.ranks(3, 'abort', 1, 5)
        output = [p.communicate(timeout=PATIENCE) for p in processes]
        self.assertEqual(sorted(p.returncode for p in processes), [5, 9, 9], output)
        self.assertEqual(sum('rank 1 has ended the job with code 5' in err for _, err in output), 2, output)

    def test_a_second_job_waits_for_the_first_to_end(self):
        first = self.ranks(2, 'late', 1, 2)
        self.assertTrue(wait_until(lambda: self.left() == ['job.job']))
        time.sleep(0.5)  # the first two have joined
        second = self.ranks(2, 'info')
        for p in first + second:
            self.end(p)

    def test_a_different_size_in_the_same_file_is_refused(self):
        first = self.begin('info', **self.env, LCT_PMI_FILE_NRANKS=2)
        self.assertTrue(wait_until(lambda: self.left() == ['job.job'] and (self.folder / 'job.job').stat().st_size > 0))
        time.sleep(0.5)
        output = self.end(self.begin('info', **self.env, LCT_PMI_FILE_NRANKS=3), 9)
        self.assertIn('is of a job of 2', output)
        second = self.begin('info', **self.env, LCT_PMI_FILE_NRANKS=2)
        self.end(first)
        self.end(second)

    def test_a_file_of_another_kind_is_refused(self):
        (self.folder / 'job.job').write_text('some text, ' * 100)
        output = self.end(self.begin('info', **self.env, LCT_PMI_FILE_NRANKS=1), 9)
        self.assertIn('not of LCI', output)
        self.assertTrue((self.folder / 'job.job').read_text().startswith('some text'))

    def test_a_program_with_runtimes_runs(self):
        hello = os.environ['HELLO']
        processes = [subprocess.Popen([hello], stdin=subprocess.DEVNULL, text=True, cwd=self.folder,
                                      env=clean_environment(**self.env, LCT_PMI_FILE_NRANKS=3, **{self.mark: 1}),
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
        for p in processes:
            self.addCleanup(self._close, p)
        for p in processes:
            out, err = p.communicate(timeout=PATIENCE)
            self.assertEqual((p.returncode, err), (0, ''), out)


if __name__ == '__main__':
    unittest.main()
