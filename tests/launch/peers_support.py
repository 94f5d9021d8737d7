"""What the tests of peers outside of the job share: a server and clients, started independently."""

import os
import subprocess

from support import PATIENCE, LaunchTest, clean_environment, run

HELPER = os.environ['PEER_HELPER']


class PeersTest(LaunchTest):
    def setUp(self):
        super().setUp()
        self.started = []

    def tearDown(self):
        for process in self.started:  # servers that the test does not end
            self._close(process)
        super().tearDown()

    def begin(self, *words, **env):
        """Starts a process of the helper program, without lcirun, and returns it."""
        process = subprocess.Popen([HELPER] + [str(w) for w in words], text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE,
                                   env=clean_environment(LCI_ATTR_BOOTSTRAP='none',
                                                         **{self.mark: 1}, **env))
        self.started.append(process)
        return process

    def once(self, *words, **env):
        """Runs a process of the helper program to its end, and returns the result."""
        return run(HELPER, *words, LCI_ATTR_BOOTSTRAP='none', **{self.mark: 1}, **env)

    def serve(self, **env):
        """Starts a server. self.where: its address and the number of its remote completion, as clients expect them."""
        server = self.begin('server', **env)
        self.where = server.stdout.readline().split()
        self.assertEqual(len(self.where), 2, 'the server did not start')
        self.assertRegex(self.where[0], r'^(shm|tcp|ofi\+[^:]+)://[!-~]+$')
        return server

    def ends_well(self, process):
        """Waits until the process has exited with 0, and returns its output."""
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, err)
        return out

    def client(self, mode, times=1, **env):
        result = self.once(mode, *self.where, times, **env)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def look(self):
        """Starts a client that gets figures of the server: name -> number."""
        names = ('served', 'died', 'descriptors', 'mappings', 'resident', 'drained')
        return dict(zip(names, map(int, self.client('report').split())))

    def still_runs(self, server):
        if server.poll() is not None:
            self.fail(f'the server has ended with {server.returncode}: {server.stderr.read()}')

    def end(self, server):
        self.still_runs(server)
        self.client('end')
        self.ends_well(server)

    def assert_memory(self, before, after, **may_grow_by):
        if os.environ.get('SANITIZER', 'none') != 'none':
            return  # sanitizers keep freed memory
        for what, much in may_grow_by.items():
            self.assertLess(after[what], before[what] + much, what)
