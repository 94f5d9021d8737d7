"""What the tests of other launchers share: each launcher runs the same programs, and ranks are killed in the same ways.

A launcher is a list of words before the program's. The paths of the programs are in the environment.
"""

import os
import re
import signal
import subprocess

from support import (HELPER, PATIENCE, LaunchTest, clean_environment, default_signals, free_ports, marked,
                     wait_until)

CONFORMANCE = os.environ['CONFORMANCE']
LCI_PERF = os.environ.get('LCI_TEST_PERF')
SMOKE = '[am],[sendrecv]'


class Launched(LaunchTest):
    """`launcher(n)`: the words that start n ranks. `env`: variables that they need."""

    kind = ''  # the expected kind of bootstrap
    env = {}
    n = 4

    def launcher(self, n):
        raise NotImplementedError

    def begin(self, n, *words, **env):
        process = subprocess.Popen(
            [str(w) for w in [*self.launcher(n), *words]], text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=default_signals,
            env=clean_environment(**{self.mark: 1}, **self.env, **env))
        self.addCleanup(self._close, process)
        return process

    def ran(self, n, *words, code=0, **env):
        """Runs a job, whose exit status must be `code`; returns its output."""
        process = self.begin(n, *words, **env)
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            self.fail(f'no end after {PATIENCE} s:\n{out}{err}')
        if code is not None:
            self.assertEqual(process.returncode, code, out + err)
        return out + err

    def ranks(self, n, process):
        """The ranks' process ids, by rank, once all of them run."""
        found = []

        def all_there():
            found[:] = [p for p in marked(self.mark) if _program(p) == HELPER]
            return len(found) == n or process.poll() is not None
        self.assertTrue(wait_until(all_there))
        self.assertEqual(len(found), n)
        return sorted(found, key=_rank)


class Common:
    """The tests themselves, to be mixed into a Launched."""

    def test_ranks_have_their_numbers_and_hosts(self):
        out = self.ran(self.n, HELPER, 'info')
        found = re.findall(r'kind=(\S+) rank=(\d+) size=(\d+) local=(\S+) job=(\S+)', out)
        self.assertEqual(sorted(int(f[1]) for f in found), list(range(self.n)), out)
        self.assertEqual({f[0] for f in found}, {self.kind})
        self.assertEqual({int(f[2]) for f in found}, {self.n})
        self.assertNotIn('-1/-1', out)
        self.assertEqual(len({f[4] for f in found}), 1)

    def test_values_reach_all_ranks(self):
        out = self.ran(self.n, HELPER, 'exchange', 2)
        self.assertEqual(out.count('exchanged'), self.n, out)

    def test_misuse_is_refused_and_a_second_runtime_works(self):
        for what in ('misuse', 'twice'):
            self.ran(self.n, HELPER, what)

    def test_conformance_cases_pass(self):
        out = self.ran(self.n, CONFORMANCE, SMOKE, LCI_TEST_CONTROL=f'127.0.0.1:{free_ports(1)[0]}')
        self.assertRegex(out, r'cases: \d\d+ passed, 0 failed')

    def test_lci_perf_runs(self):
        if not LCI_PERF:
            self.skipTest('lci_perf was not built: CLI11 is missing (Debian: libcli11-dev)')
        out = self.ran(2, LCI_PERF, 'am', 'rate', '--seconds', '0.02', '--rounds', 1, '--no-bind')
        self.assertIn('msg/s', out)

    def test_an_abort_ends_all_ranks(self):
        # A launcher that ends the job at once may lose the rank's last output: the rank waits only for a limited time
        # until it is read.
        for _ in range(3):
            process = self.begin(self.n, HELPER, 'abort', 1, 5)
            _, err = process.communicate(timeout=PATIENCE)
            self.assertNotEqual(process.returncode, 0)
            if 'rank 1: abort with code 5' in err:
                return
        self.fail('no output has the reason of the abort')

    def test_ranks_that_wait_for_a_rank_that_has_exited_are_ended(self):
        self.ran(self.n, HELPER, 'exit', 1, 5, code=None, LCI_ATTR_BOOTSTRAP_TIMEOUT=3)

    def test_a_killed_rank_ends_the_job(self):
        process = self.begin(self.n, HELPER, 'late', 1, 600, LCI_ATTR_BOOTSTRAP_TIMEOUT=3)
        os.kill(self.ranks(self.n, process)[1], signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
        self.assertNotEqual(process.returncode, 0)

    def test_a_signal_to_the_launcher_ends_the_job(self):
        process = self.begin(self.n, HELPER, 'late', 1, 600)
        self.ranks(self.n, process)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
        self.assertTrue(wait_until(lambda: not marked(self.mark)), 'processes were left')


def _rank(pid):
    with open(f'/proc/{pid}/environ', 'rb') as f:
        return int(re.search(rb'\0(?:PMI_RANK|PMIX_RANK|PMI_ID)=(\d+)', b'\0' + f.read())[1])


def _program(pid):
    try:
        return os.readlink(f'/proc/{pid}/exe')
    except OSError:
        return ''
