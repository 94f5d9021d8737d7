"""Peers outside of the job that prove their user by munge: with a real munged, which each test starts."""

import os
import pwd
import signal
import socket
import subprocess
import time
import unittest

from munged import MUNGED, Munged
from peers_support import HELPER, PeersTest
from support import PATIENCE, clean_environment
from test_peers_tcp import CHALLENGE, CONTROL, FAR, GOOD, LISTEN, OUTCOME, Stranger, hello, read_all

CREDENTIAL = 1024
NEEDS_MUNGE, WRONG_USER = 10, 12
NOBODY = 65534


@unittest.skipUnless(MUNGED, 'munged is not installed (Debian: munge)')
class PeersWithMunge(PeersTest):
    def setUp(self):
        super().setUp()
        said = self.once('self', LCI_ATTR_PEER_AUTH='munge').stderr
        if 'built without' in said or 'libmunge' in said:
            self.skipTest(said.strip().replace('\n', ' '))
        self.munged = Munged()
        self.addCleanup(self.munged.end)
        self.good = self.munged.environment()

    def serve_far(self, **env):
        return self.serve(**{LISTEN: 'tcp://127.0.0.1:0'}, **env)

    def attempt(self, *words, **env):
        return self.once('try', self.where[0], *words, **FAR, **env).stdout

    def test_processes_of_one_user_connect_and_others_are_refused(self):
        server = self.serve_far(**self.good)
        self.client('client', 2, **FAR, **self.good)
        another = Munged()
        self.addCleanup(another.end)
        self.assertRegex(self.attempt(**another.environment()), '^resource_error .*munge does not confirm')
        self.assertRegex(self.attempt(), '^resource_error .*it asks for munge')
        self.assertRegex(self.attempt(LCI_ATTR_PEER_AUTH='none'), '^resource_error .*it asks for munge')
        self.client('client', **FAR, **self.good)
        self.client('end', **FAR, **self.good)
        self.ends_well(server)
        self.serve_far()
        self.assertRegex(self.attempt(**self.good), '^resource_error .*it does not use munge')

    @unittest.skipUnless(os.geteuid() == 0, 'only root can start processes of another user')
    def test_another_user_is_refused(self):
        server = self.serve_far(**self.good)
        done = subprocess.run([HELPER, 'try', self.where[0]], user=NOBODY, group=NOBODY, text=True, capture_output=True,
                              timeout=PATIENCE, cwd='/',
                              env=clean_environment(LCI_ATTR_BOOTSTRAP='none', **FAR, **self.good))
        self.assertRegex(done.stdout, '^resource_error .*munge does not confirm', done.stderr)
        # The server also rejects this user's credential if the client does not verify the server's credential.
        said = subprocess.run(['python3', '-c', f"""
import os, socket, subprocess, sys
sys.path.insert(0, {os.path.dirname(__file__)!r})
from test_peers_tcp import hello, read_all, CONTROL
s = socket.create_connection(({Stranger(self.where[0]).to!r}[0], int({Stranger(self.where[0]).to!r}[1])))
h = bytearray(hello(CONTROL, os.urandom(16)))
h[9] = 2
s.sendall(h)
challenge = read_all(s, {CHALLENGE} + {CREDENTIAL})
text = b'LCI peer, connecting' + bytes(1) + bytes(h) + challenge[9:25]
made = subprocess.run(['munge', '-S', {str(self.munged.socket)!r}], input=text, capture_output=True, check=True).stdout
s.sendall(made.strip().ljust({CREDENTIAL}, bytes(1)))
print(read_all(s, {OUTCOME})[8])
"""], user=NOBODY, group=NOBODY, text=True, capture_output=True, timeout=PATIENCE, cwd='/',
                              env=dict(os.environ, PYTHONDONTWRITEBYTECODE='1'))
        self.assertEqual(said.stdout.strip(), str(WRONG_USER), said.stderr)
        self.client('client', **FAR, **self.good)
        server.send_signal(signal.SIGKILL)

    @unittest.skipUnless(os.geteuid() == 0, 'only root can start processes of another user')
    def test_named_users_and_groups_may_connect(self):
        self.serve_far(**self.good, LCI_ATTR_PEER_USERS=f'daemon,%{NOBODY}')

        def attempt(user, group, **env):
            return subprocess.run([HELPER, 'try', self.where[0]], user=user, group=group, extra_groups=[], text=True,
                                  capture_output=True, timeout=PATIENCE, cwd='/',
                                  env=clean_environment(LCI_ATTR_BOOTSTRAP='none', **FAR, **self.good, **env)).stdout

        daemon = pwd.getpwnam('daemon').pw_uid
        for user, group in ((daemon, daemon), (NOBODY, NOBODY)):
            self.assertEqual(attempt(user, group, LCI_ATTR_PEER_USERS='root'), 'connected\n')
        self.assertRegex(attempt(NOBODY, daemon, LCI_ATTR_PEER_USERS='root'), '^resource_error .*munge does not confirm')
        # The client, too, decides with whom it speaks.
        self.assertRegex(attempt(daemon, daemon), '^resource_error .*munge does not confirm')

    def test_lists_of_users_that_can_not_be_used_are_refused(self):
        for users, said in (('no such user', 'peer_users = "no such user".*no user no such user'),
                            ('%no such group', 'no group no such group'), ('root,,1', 'a name is missing'),
                            ('%', 'a name is missing'), ('root,', 'a name is missing'),
                            ('4294967296', 'no user 4294967296')):
            with self.subTest(users):
                self.assertRegex(self.once('self', **self.good, LCI_ATTR_PEER_USERS=users).stderr, said)
        self.assertRegex(self.once('self', LCI_ATTR_PEER_USERS='root').stderr, 'peer_users = "root".*peer_auth to munge')

    def introduce(self, how=2):
        s = socket.create_connection(Stranger(self.where[0]).to, timeout=PATIENCE)
        self.addCleanup(s.close)
        h = bytearray(hello(CONTROL, os.urandom(16)))
        h[9] = how
        s.sendall(h)
        return s, h, read_all(s, CHALLENGE)

    def test_credentials_are_refused_in_other_connections(self):
        server = self.serve_far(**self.good)
        s, _, challenge = self.introduce()
        self.assertEqual(challenge[8], GOOD)
        theirs = read_all(s, CREDENTIAL)
        s.sendall(theirs)  # reflects the server's credential
        self.assertEqual(read_all(s, OUTCOME)[8], WRONG_USER)
        self.assertEqual(s.recv(1), b'')
        used = None
        for what in ('garbage', 'of another text', 'good', 'replayed'):
            with self.subTest(what):
                s, h, challenge = self.introduce()
                read_all(s, CREDENTIAL)
                text = b'LCI peer, connecting\0' + bytes(h) + challenge[9:25]
                if what == 'of another text':
                    text = text[:-1]
                made = subprocess.run(['munge', '-S', str(self.munged.socket)], input=text, capture_output=True,
                                      check=True).stdout.strip().ljust(CREDENTIAL, b'\0')
                if what == 'garbage':
                    made = os.urandom(CREDENTIAL - 1) + b'\0'
                if what == 'replayed':
                    made = used
                s.sendall(made)
                self.assertEqual(read_all(s, OUTCOME)[8], GOOD if what == 'good' else WRONG_USER)
                if what == 'good':
                    used = made
        _, _, challenge = self.introduce(how=1)
        self.assertEqual(challenge[8], NEEDS_MUNGE)
        self.client('client', **FAR, **self.good)
        server.send_signal(signal.SIGKILL)

    def test_peers_are_accepted_again_after_munged_has_restarted(self):
        server = self.serve_far(**self.good)
        self.client('client', **FAR, **self.good)
        self.munged.kill()
        self.assertRegex(self.attempt('1', **self.good), '^(peer_failure|resource)_error ')
        self.munged.start()
        self.client('client', **FAR, **self.good)
        self.client('end', **FAR, **self.good)
        self.ends_well(server)

    def test_a_munged_that_is_stopped_delays_only_handshakes_that_need_it(self):
        """The server's munged and the clients' have one key, and each is stopped in turn."""
        theirs = Munged(self.munged.key)
        self.addCleanup(theirs.end)
        client = {**FAR, **theirs.environment()}
        server = self.serve_far(**self.good)
        self.client('client', **client)
        base = len(os.listdir(f'/proc/{server.pid}/fd'))
        for whose, munged in (('the server', self.munged), ('the clients', theirs)):
            with self.subTest(whose):
                steady = self.begin('rhythm', *self.where, 60, **client)
                self.assertEqual(steady.stdout.readline(), 'ready\n')
                munged.process.send_signal(signal.SIGSTOP)
                begin = time.monotonic()
                self.assertRegex(self.once('try', self.where[0], '1', **client).stdout, '^peer_failure_error ')
                # libmunge itself waits for more than 20 seconds.
                self.assertLess(time.monotonic() - begin, 15, 'the process has waited for munged')
                if whose == 'the server':
                    silent = []
                    for _ in range(300):
                        s = socket.create_connection(Stranger(self.where[0]).to, timeout=PATIENCE)
                        self.addCleanup(s.close)
                        h = bytearray(hello(CONTROL, os.urandom(16)))
                        h[9] = 2
                        s.sendall(h)
                        silent.append(s)
                    self.assertLess(len(os.listdir(f'/proc/{server.pid}/fd')), base + 200)
                    for s in silent:
                        s.close()
                munged.process.send_signal(signal.SIGCONT)
                self.client('client', **client)
                # A thread that waits for munged misses 2 seconds and more.
                self.assertLess(int(self.ends_well(steady)), 1500)
        self.client('end', **client)
        self.ends_well(server)


if __name__ == '__main__':
    unittest.main()
