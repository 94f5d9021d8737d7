"""A job through a real sshd, on this machine, with keys of its own."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from remote import command
from support import HELPER, PYTHON, LaunchTest, children, free_ports, marked, wait_until
from test_remote_failures import PRINTS_UP

SSHD = shutil.which('sshd') or '/usr/sbin/sshd'
CONFIG = '''Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin yes
'''


def missing():
    if not os.path.exists(SSHD):
        return 'no sshd (Debian: openssh-server)'
    if shutil.which('ssh') is None:
        return 'no ssh (Debian: openssh-client)'
    if os.geteuid() != 0:
        return 'only root can start an sshd that accepts users'
    return ''


def below(pid):
    found = children(pid)
    return found + [each for child in found for each in below(child)]


@unittest.skipIf(missing(), missing())
class Ssh(LaunchTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix='lcirun-sshd-')
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        for name in ('host', 'user'):
            subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', f'{cls.folder}/{name}'], check=True)
        port = free_ports(1)[0]
        with open(f'{cls.folder}/config', 'w') as f:
            f.write(CONFIG.format(port=port, folder=cls.folder))
        with open(f'{cls.folder}/host.pub') as f, open(f'{cls.folder}/known', 'w') as known:
            key = ' '.join(f.read().split()[:2])
            for name in ('127.0.0.1', '127.0.0.2'):
                known.write(f'[{name}]:{port} {key}\n')
        os.makedirs('/run/sshd', exist_ok=True)
        cls.sshd = subprocess.Popen([SSHD, '-D', '-e', '-f', f'{cls.folder}/config', '-o', 'ListenAddress=127.0.0.2'],
                                    stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        cls.addClassCleanup(cls.sshd.wait)
        cls.addClassCleanup(cls.sshd.kill)
        cls.ssh = (f'ssh -F none -p {port} -i {cls.folder}/user -o IdentitiesOnly=yes -o BatchMode=yes '
                   f'-o UserKnownHostsFile={cls.folder}/known')
        for _ in range(500):
            with socket.socket() as s:
                if s.connect_ex(('127.0.0.1', port)) == 0:
                    return
            time.sleep(0.01)
        raise RuntimeError('sshd did not start')

    def words(self, *words):
        return ['--hosts', '127.0.0.1:2,127.0.0.2', '--ssh', self.ssh, *words]

    def tearDown(self):
        self.assertTrue(wait_until(lambda: not below(self.sshd.pid), 10),
                        [command(pid) for pid in below(self.sshd.pid)])
        super().tearDown()

    def up(self):
        process = self.start(*self.words(PYTHON, '-c', PRINTS_UP))
        for _ in range(3):
            self.assertEqual(process.stdout.readline(), 'up\n')
        return process

    def ends(self, process, code, text):
        began = time.monotonic()
        _, err = self.finish(process)
        self.assertEqual(process.returncode, code, err)
        self.assertRegex(err, text)
        self.assertLess(time.monotonic() - began, 20)
        self.assertTrue(wait_until(lambda: not marked(self.mark), 10))

    def test_ranks_exchange_values(self):
        result = self.job(*self.words(HELPER, 'exchange', 5))
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.assertEqual(result.stdout.count('exchanged'), 3)

    def test_input_output_and_exit_code_are_passed_on(self):
        result = self.job(*self.words('sh', '-c', '[ $PMI_RANK = 0 ] || exec sleep 600; cat; echo error >&2; exit 5'),
                          input='text\n' * 50000)
        self.assertEqual(result.returncode, 5)
        self.assertEqual(result.stdout, 'text\n' * 50000)
        self.assertIn('error\n', result.stderr)

    def test_an_interrupt_ends_the_job(self):
        process = self.up()
        process.send_signal(signal.SIGINT)
        self.ends(process, 130, 'rank')

    def test_a_killed_rank_ends_the_job_and_is_named(self):
        process = self.up()
        ranks = [p for p in below(self.sshd.pid) if PRINTS_UP in command(p)]
        self.assertEqual(len(ranks), 3)
        os.kill(ranks[0], signal.SIGKILL)
        self.ends(process, 137, r'rank \d \(pid \d+ on 127.0.0.[12]\) was killed by signal 9')

    def test_a_killed_proxy_ends_the_job_and_its_host_is_named(self):
        for which in (0, 1):
            process = self.up()
            proxies = [p for p in below(self.sshd.pid) if command(p)[1:] == ['--run-as-proxy']]
            self.assertEqual(len(proxies), 4)
            is_worker = {p: any(p in children(q) for q in proxies) for p in proxies}
            os.kill([p for p in proxies if is_worker[p] == bool(which)][0], signal.SIGKILL)
            self.ends(process, 1, 'host 127.0.0.[12] is lost')

    def test_a_killed_ssh_ends_the_job_and_its_host_is_named(self):
        process = self.up()
        os.kill(children(children(process.pid)[0])[0], signal.SIGKILL)
        # lcirun may detect first that ssh has ended, or that its pipe is closed.
        self.ends(process, 1, 'host 127.0.0.1 is lost, and its ranks 0-1: '
                              '(.*was killed by signal 9|the connection through ssh has ended)')

    def test_a_killed_process_of_sshd_ends_the_job_and_its_host_is_named(self):
        process = self.up()
        os.kill(children(self.sshd.pid)[0], signal.SIGKILL)
        self.ends(process, 1, 'host 127.0.0.[12] is lost')

    def test_nothing_is_left_of_a_killed_lcirun(self):
        process = self.up()
        both = [process.pid] + children(process.pid)
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in both:
                os.kill(pid, number)
        self.ends(process, -9, '^$')

    def test_a_refused_login_is_reported(self):
        process = self.start('--hosts', 'nobody-here@127.0.0.1', '--ssh', self.ssh, 'true')
        self.ends(process, 1, "(?s)Permission denied.*host nobody-here@127.0.0.1 is lost.*exited with code 255")


if __name__ == '__main__':
    unittest.main()
