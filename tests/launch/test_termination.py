"""How jobs end: exit codes, killed ranks, aborts, time-outs, signals; and that no process is left."""

import os
import signal
import subprocess
import time
import unittest

from support import (COUNT_INTERRUPTS, HELPER, LCIRUN, PYTHON, LaunchTest, children, clean_environment,
                     marked, run, wait_until)

# Ignores SIGTERM, SIGINT and SIGHUP, and has a child in another session, which ignores them, too.
STUBBORN = '''
import os, signal, sys, time
for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(s, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() != 0:
        os._exit(0)
    time.sleep(600)
    os._exit(0)
os.wait()
print("up", flush=True)
time.sleep(600)
'''


class ExitCodes(LaunchTest):
    def test_the_job_exits_with_the_code_of_the_rank_that_fails(self):
        result = self.job('-n', 3, HELPER, 'exit', 1, 5)
        self.assertEqual(result.returncode, 5)
        self.assertRegex(result.stderr, r'rank 1 \(pid \d+\) exited with code 5')
        self.assertEqual(result.stderr.count('lcirun:'), 1)

    def test_the_job_exits_with_the_first_code_that_is_not_0(self):
        script = 'case $PMI_RANK in 0) sleep 1; exit 3;; 1) trap "exit 4" TERM; sleep 5 & wait;; ' \
                 '2) sleep 0.2; exit 7;; esac'
        self.assertEqual(self.job('-n', 3, 'sh', '-c', script).returncode, 7)

    def test_a_rank_that_ends_by_a_signal_is_named(self):
        for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT):
            result = self.job('-n', 3, HELPER, 'signal', 2, int(number))
            self.assertEqual(result.returncode, 128 + number)
            self.assertRegex(result.stderr, rf'rank 2 \(pid \d+\) was killed by signal {number:d} ')

    def test_a_rank_killed_by_another_process_ends_the_job(self):
        process = self.start('-n', 3, 'sleep', 600)
        os.kill(self.ranks_of(process, 3)[1], signal.SIGKILL)
        _, err = self.finish(process)
        self.assertEqual(process.returncode, 137)
        self.assertIn('rank 1', err)

    def test_abort_ends_the_job_with_its_code(self):
        for code in (3, 0, 255):
            result = self.job('-n', 4, HELPER, 'abort', 2, code)
            self.assertEqual(result.returncode, code)
            self.assertIn(f'rank 2: abort with code {code}: as the test wants', result.stderr)
            self.assertRegex(result.stderr, r'rank 2 \(pid \d+\) aborted the job')

    def test_an_abort_without_a_launcher_exits_with_its_code(self):
        result = run(HELPER, 'abort', 0, 6)
        self.assertEqual(result.returncode, 6)
        self.assertIn('as the test wants', result.stderr)

    def test_a_rank_that_exits_while_others_wait_is_named(self):
        result = self.job('-n', 3, HELPER, 'exit', 1, 0)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r'rank 1 \(pid \d+\) exited with code 0 without joining '
                                        r'the barrier; waiting in it: rank [02] \(pid')

    def test_a_rank_that_has_exited_before_others_wait_is_named(self):
        script = f'[ $PMI_RANK = 0 ] && exit 0; sleep 0.3; exec {HELPER} fence'
        result = self.job('-n', 2, 'sh', '-c', script)
        self.assertEqual(result.returncode, 1)
        self.assertIn('without joining the barrier', result.stderr)

    def test_a_running_rank_that_closes_its_connection_is_named(self):
        script = f'[ $PMI_RANK = 1 ] && eval "exec $PMI_FD>&-" && sleep 600; exec {HELPER} fence'
        began = time.monotonic()
        result = self.job('-n', 2, 'bash', '-c', script)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r'rank 1 \(pid \d+\) closed its PMI connection')
        self.assertLess(time.monotonic() - began, 60)

    def test_ranks_without_a_pmi_session_may_exit_at_any_time(self):
        result = self.job('-n', 3, 'sh', '-c', 'sleep 0.$PMI_RANK')
        self.assertEqual((result.returncode, result.stderr), (0, ''))

    def test_quiet_suppresses_messages(self):
        result = self.job('-n', 2, '-q', 'sh', '-c', 'exit 3')
        self.assertEqual((result.returncode, result.stderr), (3, ''))


class Timeouts(LaunchTest):
    def test_timeout_ends_the_job_and_names_the_ranks(self):
        began = time.monotonic()
        result = self.job('-n', 3, '--timeout', '0.5', 'sh', '-c', '[ $PMI_RANK = 1 ] || sleep 600')
        self.assertEqual(result.returncode, 124)
        self.assertRegex(result.stderr, r'0\.5 s .*rank 0 \(pid \d+\), rank 2 \(pid \d+\)')
        self.assertNotIn('rank 1', result.stderr)
        self.assertGreaterEqual(time.monotonic() - began, 0.5)
        self.assertLess(time.monotonic() - began, 30)

    def test_a_timeout_kills_ranks_that_ignore_sigterm(self):
        began = time.monotonic()
        result = self.job('-n', 2, '--timeout', '0.5', PYTHON, '-c', STUBBORN)
        self.assertEqual(result.returncode, 124)
        self.assertGreaterEqual(time.monotonic() - began, 2.5)  # 2 s of grace

    def test_a_job_ends_though_nobody_reads_its_full_standard_error(self):
        process = self.start('-n', 2, '--timeout', '0.5', 'sh', '-c', 'yes >&2')
        self.assertEqual(process.wait(60), 124)

    def test_a_job_that_ends_before_its_timeout_is_unaffected(self):
        result = self.job('-n', 2, '--timeout', '100', 'true')
        self.assertEqual((result.returncode, result.stderr), (0, ''))

    def test_stopped_ranks_are_ended(self):
        result = self.job('-n', 2, '--timeout', '0.5', 'sh', '-c', 'kill -STOP $$')
        self.assertEqual(result.returncode, 124)


class Signals(LaunchTest):
    def test_signals_reach_the_ranks(self):
        script = '''
import signal, sys
n = getattr(signal, sys.argv[1])
signal.pthread_sigmask(signal.SIG_BLOCK, [n])
print("up", flush=True)
signal.sigwait([n])
sys.stdout.write(f"got {n.name}\\n")
'''
        for name in ('SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'):
            with self.subTest(name=name):
                process = self.start('-n', 3, PYTHON, '-c', script, name)
                for _ in range(3):
                    self.assertEqual(process.stdout.readline(), 'up\n')
                process.send_signal(getattr(signal, name))
                out, err = self.finish(process)
                self.assertEqual(out, f'got {name}\n' * 3)
                self.assertEqual((process.returncode, err), (0, ''))

    def test_ranks_that_end_by_the_signal_give_its_exit_code(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.start('-n', 3, 'sleep', 600)
            self.ranks_of(process, 3)
            process.send_signal(number)
            self.finish(process)
            self.assertEqual(process.returncode, 128 + number)

    def test_a_second_interrupt_kills_at_once(self):
        process = self.start('-n', 2, PYTHON, '-c', STUBBORN)
        for _ in range(2):
            self.assertEqual(process.stdout.readline(), 'up\n')
        process.send_signal(signal.SIGINT)
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(1)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        self.finish(process)
        self.assertEqual(process.returncode, 130)
        self.assertLess(time.monotonic() - began, 20)

    def test_interrupts_are_ignored_if_the_parent_of_lcirun_ignores_them(self):
        process = subprocess.Popen(['sh', '-c', f"trap '' INT; exec {LCIRUN} -n 2 sleep 2"],
                                   env=clean_environment(**{self.mark: 1}))
        self.ranks_of(process, 2)
        for _ in range(3):
            process.send_signal(signal.SIGINT)
            time.sleep(0.4)
        self.assertEqual(process.wait(60), 0)

    def test_an_interrupt_by_the_terminal_reaches_each_rank_once(self):
        process, terminal = self.start_on_terminal('-n', 2, PYTHON, '-c', COUNT_INTERRUPTS)
        for _ in range(2):
            self.assertEqual(process.stdout.readline(), 'up\n')
        os.write(terminal, b'\x03')
        out, err = self.finish(process)
        self.assertEqual((process.returncode, out, err), (0, 'interrupts 1\n' * 2, ''))

    def test_rank_0_reads_from_the_terminal(self):
        process, terminal = self.start_on_terminal('-n', 2, 'sh', '-c', 'read x; echo $PMI_RANK-$x')
        os.write(terminal, b'hello\n')
        out, _ = self.finish(process)
        self.assertEqual(sorted(out.split()), ['0-hello', '1-'])

    def test_timeout_1_ends_lcirun(self):
        result = run('timeout', '1', LCIRUN, '-n', 2, 'sleep', 600, **{self.mark: 1})
        self.assertEqual(result.returncode, 124)


class NothingIsLeft(LaunchTest):
    """In addition to the checks of each test's tearDown: SIGKILL, and processes in other sessions."""

    def up(self, *words):
        process = self.start('-n', 3, *words, PYTHON, '-c', STUBBORN)
        for _ in range(3):
            self.assertTrue(process.stdout.readline().endswith('up\n'))
        # guard, job, 3 ranks, 3 daemons of the ranks
        self.assertEqual(len(marked(self.mark)), 8)
        return process

    def assert_none_left(self):
        self.assertTrue(wait_until(lambda: not marked(self.mark), 20), marked(self.mark))

    def test_nothing_is_left_after_sigkill_of_lcirun(self):
        for words in ([], ['--label']):
            process = self.up(*words)
            process.kill()
            self.assert_none_left()

    def test_nothing_is_left_after_sigkill_of_the_process_that_runs_the_job(self):
        process = self.up()
        os.kill(children(process.pid)[0], signal.SIGKILL)
        _, err = self.finish(process)
        self.assertEqual(process.returncode, 137)
        self.assertIn('was killed by signal 9', err)
        self.assertEqual(marked(self.mark), [])

    def test_no_rank_is_left_after_sigkill_of_both_processes(self):
        process = self.start('-n', 3, PYTHON, '-c',
                             'import time; print("up", flush=True); time.sleep(600)')
        for _ in range(3):
            self.assertEqual(process.stdout.readline(), 'up\n')
        job = children(process.pid)[0]
        for pid in (process.pid, job):
            os.kill(pid, signal.SIGSTOP)
        for pid in (process.pid, job):
            os.kill(pid, signal.SIGKILL)
        self.assert_none_left()

    def test_nothing_is_left_after_sigkill_while_the_ranks_start(self):
        for i in range(10):
            process = self.start('-n', 32, 'sleep', 600)
            time.sleep(0.001 * i)
            process.kill()
            process.wait()
            self.assert_none_left()

    def test_all_processes_have_ended_when_lcirun_returns(self):
        # When it returns, not soon after: the next command of a script may rely on it.
        for words in (['--timeout', '0.3', PYTHON, '-c', STUBBORN],
                      ['sh', '-c', 'setsid sleep 600 & exit 3'],
                      ['sh', '-c', 'setsid sleep 600 & exit 0']):
            result = self.job('-n', 2, *words)
            self.assertEqual(marked(self.mark), [])
            if words[-1].endswith('0'):
                self.assertEqual(result.returncode, 0)
                self.assertIn('2 process(es) that ranks have left running', result.stderr)

    def test_processes_that_end_soon_are_not_killed(self):
        path = f'/tmp/{self.mark}.out'
        self.addCleanup(os.unlink, path)
        result = self.job('-n', 1, 'sh', '-c', f'(sleep 0.2; echo done > {path}) & exit 0')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        with open(path) as f:
            self.assertEqual(f.read(), 'done\n')

    def test_nothing_is_left_of_many_jobs_that_are_killed_at_once(self):
        jobs = [self.start('-n', 4, HELPER, 'signal', i % 4, 9) for i in range(12)]
        for job in jobs:
            self.finish(job)
            self.assertEqual(job.returncode, 137)


if __name__ == '__main__':
    unittest.main()
