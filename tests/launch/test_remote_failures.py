"""Jobs on several hosts of which a part fails: they end in time, name the host, and leave no process."""

import os
import signal
import subprocess
import sys
import time
import unittest

from remote import RemoteTest
from support import HELPER, LCIRUN, PYTHON, children, clean_environment, marked, wait_until
from test_termination import STUBBORN

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'net'))
import hosts  # noqa: E402

PRINTS_UP = 'import time; print("up", flush=True); time.sleep(600)'


class Deaths(RemoteTest):
    def up(self, program=STUBBORN, host_list='a:2,b'):
        process = self.start(*self.on(host_list, PYTHON, '-c', program))
        for _ in range(3):
            self.assertTrue(process.stdout.readline().endswith('up\n'))
        return process

    def ends(self, process, code, *texts):
        """Checks that the job ends soon, with this code and an error that has all of `texts`, and leaves no process."""
        began = time.monotonic()
        _, err = self.finish(process)
        self.assertEqual(process.returncode, code, err)
        for text in texts:
            self.assertRegex(err, text)
        self.assertLess(time.monotonic() - began, 20)
        self.assertTrue(wait_until(lambda: not marked(self.mark), 10), marked(self.mark))

    def test_a_killed_rank_ends_the_job_and_is_named(self):
        process = self.up(PRINTS_UP)
        _, worker = self.proxies(process, hosts=2)[1]
        os.kill(children(worker)[0], signal.SIGKILL)
        self.ends(process, 137, r'rank 2 \(pid \d+ on b\) was killed by signal 9')

    def test_ranks_that_ignore_sigterm_are_killed(self):
        process = self.up()
        _, worker = self.proxies(process, hosts=2)[1]
        os.kill(children(worker)[0], signal.SIGKILL)
        self.ends(process, 137, 'rank 2')

    def test_a_killed_proxy_ends_the_job_and_its_host_is_named(self):
        for which in (0, 1):
            with self.subTest(which=('its outer process', 'the one that runs ranks')[which]):
                process = self.up()
                os.kill(self.proxies(process, hosts=2)[1][which], signal.SIGKILL)
                self.ends(process, 1, 'host b is lost, and its rank 2: ')

    def test_a_killed_ssh_ends_the_job_and_its_host_is_named(self):
        # This script remains between lcirun and the proxy, as ssh does.
        self.ssh = self.script('ssh', '#!/bin/sh\nshift\nsetsid -w sh -c "$*"\nexit $?\n')
        process = self.up()
        jobs = children(process.pid)
        os.kill(children(jobs[0])[0], signal.SIGKILL)
        self.ends(process, 1, 'host a is lost, and its ranks 0-1: .* was killed by signal 9')

    def test_nothing_is_left_of_a_killed_lcirun(self):
        process = self.up()
        self.proxies(process, hosts=2)
        process.kill()
        self.ends(process, -9)

    def test_a_killed_process_that_runs_the_job_is_reported(self):
        process = self.up()
        os.kill(children(process.pid)[0], signal.SIGKILL)
        self.ends(process, 137, 'was killed by signal 9')

    def test_nothing_is_left_if_both_processes_of_lcirun_are_killed(self):
        process = self.up()
        both = [process.pid] + children(process.pid)
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in both:
                os.kill(pid, number)
        self.ends(process, -9)

    def test_nothing_is_left_of_lcirun_killed_while_hosts_start(self):
        for i in range(8):
            process = self.start(*self.on('a:4,b:4,c:4', 'sleep', 600))
            time.sleep(0.01 * i)
            process.kill()
            self.ends(process, -9)

    def test_a_second_interrupt_kills_ranks_on_all_hosts(self):
        process = self.up()
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        self.ends(process, 130)

    def test_a_failed_ssh_is_reported_with_its_exit_code(self):
        for script, text in (('exit 255', "'ssh-that-fails' exited with code 255"), ('exit 0', 'exited with code 0'),
                             ('exec sh -c "no-such-program"', 'exited with code 127')):
            name = self.script('ssh-that-fails', f'#!/bin/sh\n[ $1 = a ] && exec {self.ssh} "$@"\n{script}\n')
            os.environ['PATH'] = self.folder + ':' + os.environ['PATH']
            process = self.start('--hosts', 'a,b', '--ssh', os.path.basename(name), 'sleep', 600)
            self.ends(process, 1, f'host b is lost, and its rank 1: .*{text.split(chr(39))[-1].strip()}', '--proxy')

    def test_a_missing_ssh_is_reported(self):
        process = self.start('--hosts', 'a', '--ssh', 'no-such-ssh-here', 'true')
        self.ends(process, 1, "cannot execute 'no-such-ssh-here' .--ssh.", 'host a is lost')

    def test_a_host_that_does_not_connect_times_out(self):
        ssh = self.script('silent', '#!/bin/sh\nexec sleep 600\n')
        process = self.start('--hosts', 'a,b', '--ssh', ssh, '--host-timeout', 1, 'true')
        self.ends(process, 1, 'host [ab] is lost.* did not connect back to port \\d+ .* 1 s', '--host-timeout')

    def test_nothing_is_left_of_jobs_that_fail_at_once(self):
        jobs = [self.start(*self.on('a:2,b:2', HELPER, 'signal', i % 4, 9)) for i in range(6)]
        for job in jobs:
            self.finish(job)
            self.assertEqual(job.returncode, 137)


@unittest.skipIf(hosts.missing(), hosts.missing())
class Hosts(RemoteTest):
    """Hosts with their own networks, processes and names."""

    def setUp(self):
        super().setUp()
        self.network = hosts.Network(3)
        self.addCleanup(self.network.close)
        place = ' '.join(f'host{i}) pid={h.first_process()};;' for i, h in enumerate(self.network.hosts))
        self.ssh = self.script('ssh', f'#!/bin/sh\nhost=$1; shift\ncase $host in {place} esac\n'
                               'exec nsenter --net --pid --mount --uts --ipc --target $pid -- sh -c "$*"\n')

    def launch(self, *words):
        """A job whose lcirun runs in the network of host0, but sees the processes of all."""
        process = subprocess.Popen(
            ['ip', 'netns', 'exec', self.network.hosts[0].name, LCIRUN, '--ssh', self.ssh, *map(str, words)],
            text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=clean_environment(**{self.mark: 1}))
        self.addCleanup(self._close, process)
        return process

    def test_ranks_of_hosts_with_different_names_exchange_values(self):
        process = self.launch('--hosts', 'host1:2,host2', 'sh', '-c', f'hostname; exec {HELPER} exchange 2')
        out, err = self.finish(process)
        self.assertEqual((process.returncode, err), (0, ''))
        words = out.split()
        self.assertEqual((words.count('host1'), words.count('host2')), (2, 1))
        self.assertEqual(out.count('exchanged'), 3)

    def test_a_program_with_lci_runs_on_two_hosts(self):
        if os.environ.get('WITH_OFI') != 'true':
            self.skipTest('this build has no network between hosts (Debian: libfabric-dev)')
        process = self.launch('--hosts', 'host1:2,host2:2', '--env', 'LCI_ATTR_OFI_PROVIDER_NAME=tcp',
                              os.environ['HELLO'])
        out, err = self.finish(process)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(len(out.splitlines()), 4, out)

    def test_a_disconnected_network_ends_the_job(self):
        process = self.launch('--hosts', 'host1,host2', '--host-timeout', 3, PYTHON, '-c', PRINTS_UP)
        for _ in range(2):
            self.assertEqual(process.stdout.readline(), 'up\n')
        self.network.cut(2)
        began = time.monotonic()
        _, err = self.finish(process)
        self.assertEqual(process.returncode, 1, err)
        self.assertRegex(err, 'host host2 is lost, and its rank 1: ')
        self.assertLess(time.monotonic() - began, 20)
        # And the disconnected host ends its ranks by itself.
        self.assertTrue(wait_until(lambda: not marked(self.mark), 20), marked(self.mark))

    def test_a_blocked_port_is_reported(self):
        self.network.filter(0, 'tcp dport > 1024 drop')
        process = self.launch('--hosts', 'host1', '--host-timeout', 2, 'true')
        _, err = self.finish(process)
        self.assertEqual(process.returncode, 1)
        self.assertRegex(err, 'host1.*(firewall|cannot connect back to lcirun at port)')


if __name__ == '__main__':
    unittest.main()
