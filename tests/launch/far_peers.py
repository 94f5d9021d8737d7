"""What the tests of peers over TCP and over libfabric share."""

import os
import signal
import tempfile
import time

from peers_support import PeersTest
from support import PATIENCE, run

LISTEN = 'LCI_ATTR_PEER_LISTEN'
# A runtime without shared memory for such peers, so that all goes over the network although this is one host.
FAR = {'LCI_ATTR_BACKEND': 'tcp'}


class FarPeersTest(PeersTest):
    """Clients and servers without shared memory. Subclasses have serve_far(), which starts a server of their network.
    TestsOfEachNetwork needs `listens_at`, an address of it."""

    def far(self, mode, times=1, **env):
        return self.client(mode, times, **FAR, **env)

    def look(self):
        names = ('served', 'died', 'descriptors', 'mappings', 'resident', 'drained')
        return dict(zip(names, map(int, self.far('report').split())))

    def end(self, server):
        self.still_runs(server)
        self.far('end')
        self.ends_well(server)

    def key(self, text, mode=0o600):
        file = tempfile.NamedTemporaryFile('w', delete=False)
        self.addCleanup(os.unlink, file.name)
        file.write(text)
        file.close()
        os.chmod(file.name, mode)
        return {'LCI_ATTR_PEER_KEY_FILE': file.name}


class TestsOfEachNetwork:
    """Another base of subclasses of FarPeersTest. It is no test itself, as it has no serve_far()."""

    def test_each_device_has_a_link_of_its_own(self):
        server = self.serve_far(PEER_HELPER_DEVICES=1)
        for _ in range(3):
            self.far('devices')
        self.client('devices')
        self.assertEqual(self.look()['drained'], 1)
        self.end(server)

    def test_peers_read_memory_that_is_read_only_and_can_not_write_to_it(self):
        for size in (8, 300000):
            with self.subTest(size=size):
                result = run(os.environ['READ_ONLY_PEER'], self.listens_at, size, **{self.mark: 1}, **FAR)
                self.assertEqual((result.stdout, result.returncode), ('refused\n', 0), result.stderr)
                self.assertIn('read-only', result.stderr)

    def test_ids_are_reused(self):
        """Twenty successive connections with three ids."""
        server = self.serve_far(LCI_ATTR_MAX_PEERS=3)
        self.far('client', 20)
        self.end(server)

    def test_no_resources_are_left_of_killed_clients(self):
        server = self.serve_far()
        self.far('client', 2)
        before = self.look()
        for _ in range(4):
            victim = self.begin('victim', *self.where, 1, **FAR)
            self.assertEqual(victim.stdout.readline(), 'ready\n')
            self.far('client')
            victim.send_signal(signal.SIGKILL)
            victim.wait()
        end = time.monotonic() + 20
        while (after := self.look())['died'] != 4 and time.monotonic() < end:
            pass
        self.assertEqual((after['died'], after['drained']), (4, 1))
        self.assertLessEqual(after['descriptors'], before['descriptors'] + 2)
        self.end(server)

    def test_a_client_gets_the_failure_of_a_killed_server_and_connects_to_the_next_one(self):
        server = self.serve_far()
        victim = self.begin('victim', *self.where, 1, **FAR)
        self.assertEqual(victim.stdout.readline(), 'ready\n')
        server.send_signal(signal.SIGKILL)
        server.wait()
        _, err = victim.communicate(timeout=PATIENCE)
        self.assertNotEqual(victim.returncode, 0)
        self.assertRegex(err, 'peer_failure_error')
        self.assertRegex(err, 'rank 1, a peer outside of the job, has failed')
        output = self.once('try', self.where[0], **FAR).stdout
        self.assertRegex(output, '^peer_failure_error .*nobody listens there')
        server = self.serve_far(self.where[0])  # at the same port
        self.far('client', 2)
        self.end(server)
