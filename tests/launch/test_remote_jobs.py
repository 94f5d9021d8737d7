"""Jobs on several hosts that succeed: placement, streams, signals, environment."""

import json
import os
import re
import signal
import subprocess
import time
import unittest

from remote import RemoteTest, command
from support import (COUNT_INTERRUPTS, HELPER, LCIRUN, PYTHON, children, clean_environment, marked,
                     wait_until)
from test_jobs import infos


class Ranks(RemoteTest):
    def test_ranks_of_all_hosts_are_one_job(self):
        result = self.remote_job('a,b:3', HELPER)
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        found = infos(result.stdout)
        self.assertEqual(sorted(int(f['rank']) for f in found), list(range(4)))
        self.assertEqual({f['size'] for f in found}, {'4'})
        self.assertEqual(len({f['job'] for f in found}), 1)

    def test_values_reach_all_ranks_and_barriers_synchronise_them(self):
        result = self.remote_job('a,b,c', '-n', 6, HELPER, 'exchange', 5)
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.assertEqual(result.stdout.count('exchanged'), 6)

    def places(self, *words):
        result = self.job(*words, '--ssh', self.ssh, '-v', 'sh', '-c',
                          'echo $PMI_RANK $MPI_LOCALRANKID $MPI_LOCALNRANKS')
        self.assertEqual(result.returncode, 0, result.stderr)
        hosts = {}
        for line in result.stderr.splitlines():
            rank, host = line.split('rank ')[1].split(' ')[0], line.split(' on ')[1].split(')')[0]
            hosts[int(rank)] = host
        rows = sorted(tuple(map(int, line.split())) for line in result.stdout.splitlines())
        return [(hosts[rank], local, count) for rank, local, count in rows]

    def test_ranks_are_placed_by_slots(self):
        self.assertEqual(self.places('--hosts', 'a:2,b'), [('a', 0, 2), ('a', 1, 2), ('b', 0, 1)])
        self.assertEqual(self.places('--hosts', 'a,b,a'), [('a', 0, 2), ('a', 1, 2), ('b', 0, 1)])
        self.assertEqual(self.places('--hosts', 'a:2,b', '-n', 1), [('a', 0, 1)])
        self.assertEqual([host for host, _, _ in self.places('--hosts', 'a:2,b', '-n', 6)],
                         ['a', 'a', 'a', 'a', 'b', 'b'])

    def test_a_hostfile_names_hosts_and_slots(self):
        path = os.path.join(self.folder, 'hosts')
        with open(path, 'w') as f:
            f.write('# two machines\na slots=2\n\nb:1  # the other\n')
        self.assertEqual([host for host, _, _ in self.places('--hostfile', path)], ['a', 'a', 'b'])

    def test_ranks_on_this_host_need_no_ssh(self):
        result = self.job('--hosts', 'localhost:2,' + os.uname().nodename, '--ssh', '/bin/false',
                          HELPER, 'exchange', 1)
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.assertEqual(result.stdout.count('exchanged'), 3)

    def test_many_ranks_run_on_many_hosts(self):
        hosts = ','.join(f'h{i}:4' for i in range(8))
        result = self.remote_job(hosts, HELPER, 'exchange', 2)
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.assertEqual(result.stdout.count('exchanged'), 32)

    def test_ranks_inherit_only_their_own_descriptors(self):
        code = 'import os; print(len([f for f in os.listdir("/proc/self/fd") if int(f) > 2]))'
        result = self.remote_job('a:2,b:2', PYTHON, '-c', code)
        self.assertEqual(result.stdout.split(), ['2'] * 4)

    def test_a_host_runs_more_ranks_than_its_soft_limit_of_descriptors_has_room_for(self):
        self.ssh = self.script('ssh', '#!/bin/sh\nulimit -Sn 64\nshift\nexec setsid -w sh -c "$*"\n')
        result = self.remote_job('a:60', 'sh', '-c', 'ulimit -Sn')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.assertEqual(result.stdout.split(), ['64'] * 60)  # the ranks have the limit that the host sets

    def test_a_job_runs_different_programs(self):
        result = self.remote_job('a,b', '-n', 2, HELPER, 'info', ':', '-n', 1, '--env', 'X=y', 'sh',
                                 '-c', f'echo x=$X; exec {HELPER}')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.assertEqual(result.stdout.count('size=3'), 3)
        self.assertEqual(result.stdout.count('x=y'), 1)


class Streams(RemoteTest):
    def test_rank_0_reads_the_input_wherever_it_runs(self):
        text = 'line\n' * 100000
        script = 'printf "%s:%s\\n" "$PMI_RANK" "$(cat | wc -c)"'
        result = self.remote_job('a,b', 'sh', '-c', script, input=text)
        self.assertEqual(sorted(result.stdout.splitlines()), [f'0:{len(text)}', '1:0'])

    def test_rank_0_reads_the_input_from_a_file(self):
        path = os.path.join(self.folder, 'input')
        with open(path, 'w') as f:
            f.write('x' * 300000)
        with open(path) as f:
            process = self.start(*self.on('a,b', 'wc', '-c'), stdin=f)
            out, err = self.finish(process)
        self.assertEqual(sorted(out.split()), ['0', '300000'], err)

    def test_input_that_another_process_may_read_is_read_without_waiting(self):
        def flags(pid, fd):
            with open(f'/proc/{pid}/fdinfo/{fd}') as f:
                return int(re.search(r'flags:\s*(\d+)', f.read()).group(1), 8)
        read, write = os.pipe()
        process = self.start(*self.on('a', 'sh', '-c', 'echo up; exec cat'), stdin=read)
        self.assertEqual(process.stdout.readline(), 'up\n')
        job = children(process.pid)[0]
        self.assertTrue(flags(job, 0) & os.O_NONBLOCK)
        self.assertFalse(flags(os.getpid(), read) & os.O_NONBLOCK)  # which that process would share
        os.close(read)
        os.write(write, b'text')
        os.close(write)
        self.assertEqual(self.finish(process), ('text', ''))

    def test_the_writer_of_the_input_gets_sigpipe_when_rank_0_closes_it(self):
        process = self.start(*self.on('a,b', 'sh', '-c', 'exec <&-; echo closed; sleep 60'),
                             stdin=subprocess.PIPE)
        for _ in range(2):
            self.assertEqual(process.stdout.readline(), 'closed\n')
        with self.assertRaises(BrokenPipeError):
            for _ in range(100):
                process.stdin.write('x' * 100)
                process.stdin.flush()
                time.sleep(0.05)
        process.stdin = None
        process.terminate()
        self.finish(process)

    def test_all_output_arrives_and_stderr_is_separate(self):
        script = 'seq 20000; echo error >&2'
        result = self.remote_job('a,b', '--label', 'sh', '-c', script)
        self.assertEqual(result.returncode, 0)
        for rank in range(2):
            mine = [li[4:] for li in result.stdout.splitlines() if li.startswith(f'[{rank}] ')]
            self.assertEqual(mine, [str(i) for i in range(1, 20001)])
        self.assertEqual(sorted(result.stderr.splitlines()), ['[0] error', '[1] error'])

    def test_a_slow_reader_blocks_the_ranks_and_loses_nothing(self):
        process = self.start(*self.on('a,b', 'head', '-c', 5000000, '/dev/zero'))
        time.sleep(2)  # longer than processes that ranks leave running may take
        out, err = self.finish(process)
        self.assertEqual((process.returncode, len(out), err), (0, 10000000, ''))

    def test_a_reader_that_stops_does_not_stop_the_session(self):
        process = self.start(*self.on('a,b', '--timeout', 3, 'sh', '-c',
                                      f'[ $PMI_RANK = 0 ] && yes & {HELPER} exchange 2 >&2; sleep 60'))
        seen = [process.stderr.readline() for _ in range(2)]
        self.assertEqual(sorted(seen), ['exchanged rank=0\n', 'exchanged rank=1\n'])
        self.assertIn('--timeout', process.stderr.readline())
        process.wait(60)
        self.assertEqual(process.returncode, 124)

    def test_a_job_whose_output_is_closed_ends_by_sigpipe(self):
        process = self.start(*self.on('a,b', '-q', 'yes'))
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.wait(60), 141)

    def test_output_files_are_on_lcirun_s_host(self):
        result = self.remote_job('a:2,b', '--output', f'{self.folder}/%h.%r', 'sh', '-c',
                                 'echo out $PMI_RANK; sleep 0.1; echo error >&2')
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, '', ''))
        for rank, host in enumerate('aab'):
            with open(f'{self.folder}/{host}.{rank}') as f:
                self.assertEqual(f.read(), f'out {rank}\nerror\n')

    def test_output_that_cannot_be_written_is_reported_and_the_job_fails(self):
        result = self.remote_job('a,b', '--output', '/dev/full', 'echo', 'x')
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr, "lcirun: cannot write to '/dev/full' (--output, --error): "
                                        'No space left on device; output of ranks is lost\n')


class Environment(RemoteTest):
    def test_variables_arguments_and_folder_are_those_of_lcirun(self):
        # In one write, also where Python does not buffer: otherwise lines of ranks may be mixed.
        code = ('import json, os, sys; sys.stdout.write(json.dumps([os.environ.get("A_B"), os.getcwd(), '
                'sys.argv[1:]]) + "\\n")')
        words = ['', 'a b', "it's", '"$HOME"', '\\', 'x\ny', '*']
        process = subprocess.Popen([LCIRUN, *self.on('a,b', PYTHON, '-c', code, *words)],
                                   env=clean_environment(**{'A_B': "a 'b'\n$c", self.mark: 1}),
                                   cwd=self.folder, stdout=subprocess.PIPE, text=True)
        out, _ = process.communicate(timeout=60)
        for line in out.splitlines():
            self.assertEqual(json.loads(line), ["a 'b'\n$c", self.folder, words])
        self.assertEqual(len(out.splitlines()), 2)

    def test_variables_of_a_host_are_passed_on_only_on_request(self):
        ssh = self.script('other-home', f'#!/bin/sh\nHOME=/there; export HOME\nexec {self.ssh} "$@"\n')
        for extra, home in (([], '/there'), (['--env', 'HOME'], '/here')):
            result = self.job('--hosts', 'a', '--ssh', ssh, *extra, 'sh', '-c', 'echo $HOME',
                              HOME='/here')
            self.assertEqual(result.stdout, home + '\n', result.stderr)

    def test_another_folder_can_be_chosen_and_a_missing_one_is_named(self):
        result = self.remote_job('a', '--wdir', '/usr', 'pwd')
        self.assertEqual(result.stdout, '/usr\n')
        result = self.remote_job('a', '--wdir', '/no/such/folder', 'pwd')
        self.assertEqual(result.returncode, 1)
        self.assertIn("'/no/such/folder'", result.stderr)
        self.assertIn('--wdir', result.stderr)

    def test_the_key_is_on_no_command_line(self):
        """Neither on that of ssh nor on those of its child processes: these have only the host and the program."""
        process = self.start(*self.on('a,b', 'sleep', 600))
        for _, worker in self.proxies(process, hosts=2):
            self.assertEqual(command(worker), [os.path.realpath(LCIRUN), '--run-as-proxy'])
        with open(self.log) as f:
            self.assertEqual(sorted(f.read().splitlines()),
                             [f"{h} exec '{os.path.realpath(LCIRUN)}' --run-as-proxy" for h in 'ab'])
        process.terminate()
        self.finish(process)


class Ends(RemoteTest):
    def test_the_job_exits_with_the_code_of_the_rank_that_fails(self):
        result = self.remote_job('a,b', HELPER, 'exit', 1, 5)
        self.assertEqual(result.returncode, 5)
        self.assertRegex(result.stderr, r'rank 1 \(pid \d+ on b\) exited with code 5')
        self.assertEqual(result.stderr.count('lcirun:'), 1)

    def test_abort_ends_the_job_with_its_code(self):
        result = self.remote_job('a:2,b', HELPER, 'abort', 2, 7)
        self.assertEqual(result.returncode, 7)
        self.assertRegex(result.stderr, r'rank 2 \(pid \d+ on b\) aborted the job with code 7')

    def test_a_rank_that_exits_while_others_wait_is_named(self):
        result = self.remote_job('a,b,c', HELPER, 'exit', 1, 0)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r'rank 1 \(pid \d+ on b\) exited with code 0 without joining')

    def test_a_timeout_ends_ranks_on_all_hosts(self):
        result = self.remote_job('a,b', '--timeout', 1.5, 'sleep', 600)
        self.assertEqual(result.returncode, 124)
        self.assertRegex(result.stderr, r'rank 0 \(pid \d+ on a\), rank 1 \(pid \d+ on b\)')
        self.assertEqual(marked(self.mark), [])

    def test_processes_that_ranks_leave_running_are_ended_on_all_hosts(self):
        result = self.remote_job('a,b', 'sh', '-c', 'setsid sleep 600 >/dev/null 2>&1 & exit 0')
        self.assertEqual(result.returncode, 0)
        self.assertIn('left running on a, b', result.stderr)
        self.assertEqual(marked(self.mark), [])

    def test_unknown_programs_are_refused(self):
        result = self.remote_job('a', 'no-such-program-here')
        self.assertEqual(result.returncode, 127)
        self.assertIn("cannot execute 'no-such-program-here' on a", result.stderr)

    def test_signals_reach_ranks_on_all_hosts(self):
        script = ('import signal, sys; n = getattr(signal, sys.argv[1]); '
                  'signal.pthread_sigmask(signal.SIG_BLOCK, [n]); print("up", flush=True); '
                  'signal.sigwait([n]); sys.stdout.write(f"got {n.name}\\n")')
        for name in ('SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1'):
            with self.subTest(name=name):
                process = self.start(*self.on('localhost,b', PYTHON, '-c', script, name))
                for _ in range(2):
                    self.assertEqual(process.stdout.readline(), 'up\n')
                process.send_signal(getattr(signal, name))
                out, err = self.finish(process)
                self.assertEqual((process.returncode, out, err), (0, f'got {name}\n' * 2, ''))

    def test_an_interrupt_by_the_terminal_reaches_each_remote_rank_once(self):
        process, terminal = self.start_on_terminal(
            *self.on('localhost,b', PYTHON, '-c', COUNT_INTERRUPTS))
        for _ in range(2):
            self.assertEqual(process.stdout.readline(), 'up\n')
        os.write(terminal, b'\x03')
        out, err = self.finish(process)
        self.assertEqual((process.returncode, out, err), (0, 'interrupts 1\n' * 2, ''))

    def test_a_signal_while_hosts_connect_ends_the_job(self):
        ssh = self.script('slow', '#!/bin/sh\nexec sleep 600\n')
        process = self.start('--hosts', 'a,b', '--ssh', ssh, 'true')
        self.assertTrue(wait_until(
            lambda: sum(command(p)[:2] == ['sleep', '600']
                        for job in children(process.pid) for p in children(job)) == 2))
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        _, err = self.finish(process)
        self.assertEqual(process.returncode, 143)
        self.assertIn('waiting for a, b to connect', err)
        self.assertLess(time.monotonic() - began, 5)


if __name__ == '__main__':
    unittest.main()
