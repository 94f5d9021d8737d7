"""Jobs in which no rank fails: ranks, sizes, key-value store, output, input, arguments, start-up time."""

import contextlib
import os
import re
import statistics
import subprocess
import time
import unittest

from support import (HELPER, LCIRUN, PYTHON, LaunchTest, children, clean_environment, lcirun, run, wait_until)

HELLO = os.environ['HELLO']
WITH_OFI = os.environ['WITH_OFI'] == 'true'


def infos(text):
    """The fields that each rank of HELPER prints on a line: rank=0 size=2 ..."""
    return [dict(word.split('=', 1) for word in line.split()) for line in text.splitlines()]


class Ranks(LaunchTest):
    def test_each_rank_runs_once_and_has_rank_and_size(self):
        for n in (1, 2, 3, 64):
            with self.subTest(n=n):
                result = self.job('-n', n, HELPER)
                self.assertEqual(result.returncode, 0, result.stderr)
                found = infos(result.stdout)
                self.assertEqual(sorted(int(f['rank']) for f in found), list(range(n)))
                self.assertEqual({f['size'] for f in found}, {str(n)})
                self.assertEqual({f['kind'] for f in found}, {'pmi1'})
                self.assertEqual(len({f['job'] for f in found}), 1)
                self.assertEqual(result.stderr, '')

    def test_jobs_have_different_ids(self):
        ids = {infos(self.job('-n', 1, HELPER).stdout)[0]['job'] for _ in range(5)}
        self.assertEqual(len(ids), 5)

    def test_a_process_without_a_launcher_is_a_job_of_one_rank(self):
        result = run(HELPER)
        self.assertEqual(result.returncode, 0, result.stderr)
        found = infos(result.stdout)[0]
        self.assertEqual((found['kind'], found['rank'], found['size']), ('local', '0', '1'))
        self.assertNotEqual(found['job'], infos(run(HELPER).stdout)[0]['job'])

    def test_binary_values_of_all_sizes_reach_all_ranks(self):
        for n in (1, 2, 5):
            result = self.job('-n', n, HELPER, 'exchange', 3)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stdout.count('exchanged'), n)
        self.assertEqual(run(HELPER, 'exchange', 3).returncode, 0)  # and without a launcher

    def test_misuse_is_refused_and_the_session_continues(self):
        for result in (self.job('-n', 2, HELPER, 'misuse'), run(HELPER, 'misuse')):
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn('misuse refused', result.stdout)

    def test_a_forked_process_may_not_use_the_session(self):
        result = self.job('-n', 2, HELPER, 'fork')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.count('fork refused'), 2)

    def test_a_second_runtime_in_a_process_gets_the_same_session(self):
        result = self.job('-n', 3, HELPER, 'twice')
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_shell_script_may_run_several_programs_in_turn(self):
        result = self.job('-n', 2, 'sh', '-c', f'{HELPER} fence && {HELPER} fence')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(infos(result.stdout)), 4)

    def test_a_fence_waits_for_a_late_rank(self):
        result = self.job('-n', 3, HELPER, 'late', 1, 0.5)
        self.assertEqual(result.returncode, 0, result.stderr)
        times = [float(f['time']) for f in infos(result.stdout)]
        self.assertEqual(len(times), 3)

    def test_ranks_that_do_not_join_in_time_are_named(self):
        result = self.job('-n', 4, HELPER, 'late', 1, 60, LCI_ATTR_BOOTSTRAP_TIMEOUT=1)
        self.assertEqual(result.returncode, 9)
        self.assertIn('of 4 ranks these did not come within 1 s: 1;', result.stderr)

    def test_concurrent_jobs_do_not_exchange_values(self):
        jobs = [self.start('-n', 4, HELPER, 'exchange', 5) for _ in range(2)]
        for job in jobs:
            out, err = self.finish(job)
            self.assertEqual(job.returncode, 0, err)
            self.assertEqual(out.count('exchanged'), 4)

    def test_a_job_after_a_killed_job_works(self):
        for _ in range(3):
            self.assertEqual(self.job('-n', 2, HELPER, 'signal', 1, 9).returncode, 137)
            result = self.job('-n', 2, HELPER, 'exchange', 1)
            self.assertEqual(result.returncode, 0, result.stderr)

    def test_the_kind_of_bootstrap_can_be_chosen(self):
        result = self.job('-n', 2, HELPER, LCI_ATTR_BOOTSTRAP='local')
        self.assertEqual([f['size'] for f in infos(result.stdout)], ['1', '1'])
        result = self.job('-n', 2, HELPER, 'force', 'pmi1', LCI_ATTR_BOOTSTRAP='local')
        self.assertEqual([f['size'] for f in infos(result.stdout)], ['2', '2'])

    def test_ranks_inherit_the_environment(self):
        result = self.job('-n', 2, 'sh', '-c', 'echo "$LCI_ATTR_X,$SOME_VARIABLE,$PMI_PORT."',
                          LCI_ATTR_X='a b', SOME_VARIABLE='c', PMI_PORT='outer:1', PMI_ID='5')
        self.assertEqual(result.stdout, 'a b,c,.\n' * 2)

    def test_ranks_inherit_no_descriptors_of_other_ranks(self):
        # Two: the socket of the session, and the directory that Python reads.
        code = 'import os; print(len([f for f in os.listdir("/proc/self/fd") if int(f) > 2]))'
        result = self.job('-n', 4, PYTHON, '-c', code)
        self.assertEqual(result.stdout.split(), ['2'] * 4)

    def test_a_job_with_more_sockets_than_the_soft_limit_runs(self):
        script = (f'ulimit -Sn 64 && exec {LCIRUN} -n 100 --label '
                  'sh -c "ulimit -Sn; exit 0"')
        result = run('sh', '-c', script)
        self.assertEqual(result.returncode, 0, result.stderr)
        # The ranks get the limit that lcirun was started with.
        self.assertEqual({line.split()[1] for line in result.stdout.splitlines()}, {'64'})

    def test_a_job_with_more_sockets_than_the_hard_limit_says_what_to_raise(self):
        for limit in (5, 16):  # too few for lcirun itself, for its ranks
            result = run('sh', '-c', f'ulimit -n {limit} && exec {LCIRUN} -n 16 true')
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn('Too many open files; raise `ulimit -n`', result.stderr)

    def test_ranks_with_too_few_descriptors_say_what_to_raise(self):
        networks = {'shm': (4, 5), 'tcp': (4, 8, 10), **({'ofi': (8, 13)} if WITH_OFI else {})}
        for network, limits in networks.items():
            for limit in limits:
                with self.subTest(network=network, limit=limit):
                    result = lcirun('-n', 2, 'sh', '-c', f'ulimit -n {limit}; exec {HELLO}', LCI_ATTR_BACKEND=network)
                    lines = [line for line in result.stderr.splitlines() if 'Too many open files' in line]
                    self.assertTrue(result.returncode == 0 or lines, result.stderr)
                    for line in lines:
                        self.assertIn('raise `ulimit -n`', line)

    def test_a_rank_that_can_not_connect_for_want_of_descriptors_says_so(self):
        for limit in range(11, 17):  # at some of these a rank can listen, but not connect to the other one
            with self.subTest(limit=limit):
                result = run('timeout', '-k', '1', '6', LCIRUN, '-n', '2', 'sh', '-c',
                             f'ulimit -n {limit}; exec {HELLO}', LCI_ATTR_BACKEND='tcp')
                self.assertTrue(result.returncode == 0 or 'raise `ulimit -n`' in result.stderr, result.stderr)

    def test_ignored_signals_stay_ignored_and_none_is_blocked(self):
        code = ('import signal; print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN, '
                'len(signal.pthread_sigmask(signal.SIG_BLOCK, [])))')
        result = run('sh', '-c', f"trap '' HUP; exec {LCIRUN} -n 1 {PYTHON} -c '{code}'")
        self.assertEqual(result.stdout, 'True 0\n', result.stderr)

    def test_exit_codes_are_correct_although_sigchld_is_ignored(self):
        code = ('import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); '
                'os.execv(sys.argv[1], sys.argv[1:])')
        self.assertEqual(run(PYTHON, '-c', code, LCIRUN, '-n', 2, 'sh', '-c', 'exit 6').returncode,
                         6)

    def test_binding_gives_each_rank_one_allowed_processor(self):
        allowed = sorted(os.sched_getaffinity(0))
        code = 'import os; print(os.environ["PMI_RANK"], *sorted(os.sched_getaffinity(0)))'
        result = self.job('-n', 5, '--bind', 'core', PYTHON, '-c', code)
        self.assertEqual(result.returncode, 0, result.stderr)
        for line in result.stdout.splitlines():
            rank, cpu = map(int, line.split())
            self.assertEqual(cpu, allowed[rank % len(allowed)])
        result = self.job('-n', 2, PYTHON, '-c', code)
        for line in result.stdout.splitlines():
            self.assertEqual([int(w) for w in line.split()[1:]], allowed)


class Streams(LaunchTest):
    def test_only_rank_0_reads_the_input(self):
        result = self.job('-n', 3, 'sh', '-c', 'printf "%s:%s\\n" "$PMI_RANK" "$(cat)"',
                          input='some text')
        self.assertEqual(sorted(result.stdout.splitlines()), ['0:some text', '1:', '2:'])

    def test_the_writer_of_the_input_gets_sigpipe_when_rank_0_closes_it(self):
        process = self.start('-n', 2, 'sh', '-c', 'exec <&-; echo closed; sleep 60',
                             stdin=subprocess.PIPE)
        for _ in range(2):
            self.assertEqual(process.stdout.readline(), 'closed\n')
        with self.assertRaises(BrokenPipeError):
            for _ in range(100):
                process.stdin.write('x' * 100)
                process.stdin.flush()
                time.sleep(0.05)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        process.stdin = None
        process.terminate()
        self.finish(process)

    def test_without_label_ranks_inherit_the_output_file(self):
        code = 'import os; s = os.fstat(1); print(s.st_dev, s.st_ino)'
        path = f'/tmp/{self.mark}.out'
        self.addCleanup(os.unlink, path)
        with open(path, 'w') as out:
            subprocess.run([LCIRUN, '-n', '2', PYTHON, '-c', code], stdout=out,
                           env=clean_environment(**{self.mark: 1}), check=True)
            mine = os.fstat(out.fileno())
        with open(path) as f:
            self.assertEqual(f.read(), f'{mine.st_dev} {mine.st_ino}\n' * 2)

    def test_labels_precede_whole_lines(self):
        script = ('for i in $(seq 200); do printf "a%s " $i; printf "b\\n"; echo e$i >&2; done; '
                  'printf "no newline"')
        result = self.job('-n', 4, '--label', 'sh', '-c', script)
        self.assertEqual(result.returncode, 0, result.stderr)
        for rank in range(4):
            mine = [line for line in result.stdout.splitlines() if line.startswith(f'[{rank}] ')]
            want = [f'[{rank}] a{i} b' for i in range(1, 201)] + [f'[{rank}] no newline']
            self.assertEqual(mine, want)
            errors = [li for li in result.stderr.splitlines() if li.startswith(f'[{rank}] ')]
            self.assertEqual(errors, [f'[{rank}] e{i}' for i in range(1, 201)])
        self.assertEqual(len(result.stdout.splitlines()), 4 * 201)

    def test_empty_and_very_long_lines_have_labels(self):
        code = 'import sys; sys.stdout.write("\\n" + "x" * 65536 + "\\n" + "y" * 200000 + "\\nz")'
        result = self.job('-n', 1, '--label', PYTHON, '-c', code)
        lines = result.stdout.splitlines()
        self.assertEqual(lines[0], '[0] ')
        self.assertEqual(lines[1], '[0] ' + 'x' * 65536)
        self.assertEqual(lines[-1], '[0] z')
        self.assertEqual(''.join(line[4:] for line in lines[2:-1]), 'y' * 200000)

    def test_labels_are_written_to_a_file(self):
        path = f'/tmp/{self.mark}.out'
        self.addCleanup(os.unlink, path)
        with open(path, 'w') as out:
            subprocess.run([LCIRUN, '-n', '2', '--label', 'seq', '10000'], stdout=out,
                           env=clean_environment(**{self.mark: 1}), check=True)
        with open(path) as f:
            lines = f.read().splitlines()
        for rank in range(2):
            mine = [line for line in lines if line.startswith(f'[{rank}] ')]
            self.assertEqual(mine, [f'[{rank}] {i}' for i in range(1, 10001)])

    def test_a_reader_that_stops_blocks_the_ranks_but_not_the_launcher(self):
        process = self.start('-n', 2, '--label', '--timeout', 3, 'sh', '-c',
                             f'[ $PMI_RANK = 0 ] && yes & {HELPER} exchange 2 >&2; sleep 60')
        # The pipe of stdout is full, since it is not read; the ranks' session works nevertheless.
        seen = [process.stderr.readline() for _ in range(2)]
        self.assertEqual(sorted(seen), ['[0] exchanged rank=0\n', '[1] exchanged rank=1\n'])
        self.assertIn('--timeout', process.stderr.readline())
        process.wait(60)
        self.assertEqual(process.returncode, 124)

    def test_output_that_waits_behind_the_timeout_costs_no_time(self):
        began = time.monotonic()
        process = self.start('-n', 1, '--label', '--timeout', 5, 'seq', 20000)
        self.assertTrue(wait_until(lambda: children(process.pid)))
        job = children(process.pid)[0]
        time.sleep(max(0, began + 5.5 - time.monotonic()))  # the rank has ended long before

        def switches():
            with open(f'/proc/{job}/status') as f:
                return int(re.search(r'\nvoluntary_ctxt_switches:\s+(\d+)', f.read()).group(1))
        before = switches()
        time.sleep(1)
        self.assertLess(switches() - before, 100)
        out, _ = self.finish(process)
        self.assertEqual((process.returncode, out.count('\n')), (0, 20000))

    def test_standard_streams_may_be_closed(self):
        for how in ('<&-', '>&-', '2>&-', '<&- >&- 2>&-'):
            for words in ('', '--label', '--hosts localhost'):
                with self.subTest(how=how, words=words):
                    script = f'{LCIRUN} -n 2 {words} sh -c "echo out; echo err >&2; exit 3" {how}; echo $?'
                    result = run('bash', '-c', script)
                    self.assertEqual(result.stdout.splitlines()[-1], '3', result.stderr)
                    self.assertEqual('out' in result.stdout, '>&- ' not in how + ' ' or how == '2>&-')

    def test_a_job_whose_output_is_closed_ends_by_sigpipe(self):
        for label in ([], ['--label']):
            script = f'{LCIRUN} -n 2 -q {" ".join(label)} yes | head -n 1; echo ${{PIPESTATUS[0]}}'
            result = run('bash', '-c', script)
            self.assertEqual(result.stdout.splitlines()[-1], '141')

    def test_output_that_cannot_be_written_is_reported_and_the_job_fails(self):
        result = run('sh', '-c', f'{LCIRUN} -n 1 --label echo x >/dev/full')
        self.assertEqual(result.returncode, 1)
        self.assertIn('lcirun: cannot write to standard output: No space left on device; output of ranks is lost\n',
                      result.stderr)


class Arguments(LaunchTest):
    def test_options_after_the_program_belong_to_the_program(self):
        for words in (['-n', 1], ['-n1', '--'], ['-n', 1, '--label', '--']):
            result = lcirun(*words, 'printf', '%s,', '-n', '3', '--timeout', '--', '', '[a,b]', 'x y')
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stdout.strip().replace('[0] ', ''),
                             '-n,3,--timeout,--,,[a,b],x y,')

    def test_np_is_n_before_options_with_values_only(self):
        for words in (['-np', 2], ['--label', '-np', 2], ['-np', 1, 'true', ':', '-np', 2]):
            result = lcirun(*words, 'printf', '%s,', '-np', '3')
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stdout.count('-np,3,'), 2, result.stdout)

    def test_invalid_command_lines_are_refused(self):
        for words, text in (
                ([], '-n'),
                (['true'], '-n'),
                (['-n', '2'], 'no program'),
                (['-n', '0', 'true'], '0'),
                (['-n', '-1', 'true'], '-1'),
                (['-n', '99999999999', 'true'], '99999999999'),
                (['-n', 'two', 'true'], 'two'),
                (['-n', '2', '--bind', 'board', 'true'], 'board'),
                (['-n', '2', '--timeout', '0', 'true'], '0'),
                (['-n', '2', '--timeout', 'soon', 'true'], 'soon'),
                (['-n', '2', '--timeout', 'nan', 'true'], 'nan'),
                (['--hosts', 'localhost', '--host-timeout', 'nan', 'true'], 'nan'),
                (['-n', '2', '--lable', 'true'], '--lable'),
                (['-n', '2', '-z', 'true'], '-z')):
            with self.subTest(words=words):
                result = lcirun(*words)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(text, result.stderr)
                self.assertIn('Usage', result.stderr)
                self.assertEqual(result.stdout, '')

    def test_help_and_version_are_printed(self):
        result = lcirun('--help')
        self.assertEqual(result.returncode, 0)
        for word in ('--bind', '--timeout', '--label', '--version', 'PMI_RANK', '124'):
            self.assertIn(word, result.stdout)
        result = lcirun('--version')
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r'\d+\.\d+\.\d+')

    def test_unknown_and_not_executable_programs_are_refused(self):
        for program, code in (('no-such-program-here', 127), ('/no/such/file', 127), ('', 127),
                              ('/etc/passwd', 126), ('/tmp', 126)):
            with self.subTest(program=program):
                result = lcirun('-n', 2, program)
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertIn(f"'{program}'", result.stderr)

    def test_a_program_that_the_kernel_cannot_execute_is_refused(self):
        path = f'/tmp/{self.mark}.bin'
        self.addCleanup(os.unlink, path)
        with open(path, 'wb') as f:
            f.write(b'#!/no/such/interpreter\n')
        os.chmod(path, 0o755)
        result = self.job('-n', 2, path)
        self.assertEqual(result.returncode, 127)
        self.assertIn('cannot execute', result.stderr)


class Start(LaunchTest):
    def test_the_start_up_time_is_within_limits(self):
        """Prints how long it takes from starting lcirun until ranks have their session; limits are generous."""
        for n, runs, limit in ((2, 20, 2.0), (64, 5, 10.0)):
            first, last, whole = [], [], []
            for _ in range(runs):
                began, clock = time.time(), time.monotonic()
                result = self.job('-n', n, HELPER)
                whole.append(time.monotonic() - clock)
                times = [float(t) for t in re.findall(r'time=(\S+)', result.stdout)]
                self.assertEqual(len(times), n)
                first.append(min(times) - began)
                last.append(max(times) - began)
            median = [statistics.median(x) * 1e3 for x in (first, last, whole)]
            print(f'start-up, {n} ranks, median of {runs}: first rank has its session after '
                  f'{median[0]:.1f} ms, last after {median[1]:.1f} ms, '
                  f'job over after {median[2]:.1f} ms', flush=True)
            self.assertLess(median[2], limit * 1e3)


if __name__ == '__main__':
    unittest.main()
