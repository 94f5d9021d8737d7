"""Peers outside of the job over TCP: addresses, authentication, peers that end, and connections that make no sense."""

import os
import random
import re
import signal
import socket
import struct
import time
import unittest

from far_peers import FAR, LISTEN, FarPeersTest, TestsOfEachNetwork
from support import PATIENCE, run

HELLO, CHALLENGE, OUTCOME = 64, 64, 32
GOOD, NEAR = 1, 2
CONTROL, LINK = 1, 2


def read_all(s, size):
    got = b''
    while len(got) < size:
        more = s.recv(size - len(got))
        if not more:
            raise ConnectionError('closed')
        got += more
    return got


def hello(what, token=b'\0' * 16, device=0, largest=8192):
    return struct.pack('<8sBBHI16s16sQ', b'LCIpeer1', what, 0, device, largest, os.urandom(16), token, 0).ljust(HELLO, b'\0')


class Stranger:
    """A process that speaks the protocol without a key, up to messages of its own."""

    def __init__(self, address):
        host, port = re.fullmatch(r'tcp://\[?([^]]*)\]?:(\d+)', address).groups()
        self.to = (host, int(port))

    def introduce(self, what, token=b'\0' * 16):
        s = socket.create_connection(self.to, timeout=PATIENCE)
        s.sendall(hello(what, token or os.urandom(16)))
        self.challenge = read_all(s, CHALLENGE)
        s.sendall(b'\0' * 32)
        outcome = read_all(s, OUTCOME)
        return s, outcome[8], outcome[13:29]

    def link(self):
        control, verdict, token = self.introduce(CONTROL, os.urandom(16))
        assert verdict == GOOD, verdict
        link, verdict, _ = self.introduce(LINK, token)
        assert verdict == GOOD, verdict
        return control, link


def sockets_of(process):
    n = 0
    for fd in os.listdir(f'/proc/{process.pid}/fd'):
        try:
            n += os.readlink(f'/proc/{process.pid}/fd/{fd}').startswith('socket:')
        except OSError:
            pass
    return n


class PeersOverTcp(TestsOfEachNetwork, FarPeersTest):
    listens_at = 'tcp://127.0.0.1:0'

    def serve_far(self, where='tcp://127.0.0.1:0', **env):
        server = self.serve(**{LISTEN: where}, **env)
        self.assertRegex(self.where[0], r'^tcp://\S+:[1-9]\d*$')
        return server

    def test_a_peer_is_alive_while_handlers_of_two_threads_throw(self):
        result = run(os.environ['THROWING_PEER'], 'tcp://127.0.0.1:0', **{self.mark: 1}, **FAR)
        self.assertEqual((result.stdout, result.returncode), ('alive\n', 0), result.stderr)

    def test_all_operations_work_with_addresses_of_both_families_and_with_names(self):
        for where in ('tcp://127.0.0.1:0', 'tcp://[::1]:0', 'tcp://localhost:0'):
            with self.subTest(where):
                server = self.serve_far(where)
                self.far('client', 3)
                self.far('large')
                port = self.where[0].rpartition(':')[2]
                if where == 'tcp://127.0.0.1:0':
                    self.where[0] = 'tcp://localhost:' + port
                    self.far('client')
                self.end(server)

    def test_runtimes_of_any_network_connect(self):
        server = self.serve_far(**FAR)
        self.client('client', 3)
        self.far('client', 2)
        self.client('large')
        if os.environ['WITH_OFI'] == 'true':
            self.client('client', LCI_ATTR_BACKEND='ofi', FI_PROVIDER='tcp')
            self.client('large', LCI_ATTR_BACKEND='ofi', FI_PROVIDER='tcp')
        self.end(server)

    def test_a_server_listens_on_several_addresses(self):
        server = self.serve_far('tcp://127.0.0.1:0,tcp://[::1]:0,tcp://127.0.0.2:0')
        self.far('client')
        self.end(server)

    def test_peers_of_one_host_use_shared_memory(self):
        server = self.serve_far()
        before = sockets_of(server)
        for env, grows in (({}, False), (FAR, True)):
            victim = self.begin('victim', *self.where, 1, **env)
            self.assertEqual(victim.stdout.readline(), 'ready\n')
            self.assertEqual(sockets_of(server) > before, grows, env)
            victim.send_signal(signal.SIGKILL)
            victim.wait()
        self.client('client')
        self.end(server)

    def test_ids_serve_peers_of_both_networks_in_turn(self):
        server = self.serve_far(LCI_ATTR_MAX_PEERS=2)
        for _ in range(4):
            for env in ({}, FAR):
                self.client('no_disconnect', **env)
                self.client('client', 3, **env)
        self.end(server)

    def test_clients_connect_and_disconnect_and_no_resources_are_left(self):
        server = self.serve_far()
        self.far('client', 10)
        before = self.look()
        crowd = [self.begin('client', *self.where, 10, **FAR) for _ in range(4)]
        for process in crowd:
            self.ends_well(process)
        self.far('client', 60)
        self.far('no_disconnect')
        after = self.look()
        self.assertEqual((after['drained'], after['died']), (1, 0))
        self.assertLessEqual(after['descriptors'], before['descriptors'] + 2)
        self.assert_memory(before, after, mappings=10, resident=6000)
        self.end(server)

    @unittest.skipUnless(os.environ.get('LCI_TESTS_LONG', '0') != '0', 'takes a minute: with --long')
    def test_ten_thousand_connections_leave_no_resources(self):
        server = self.serve_far()
        self.far('client', 100)
        before = self.look()
        for _ in range(5):
            pair = [self.begin('client', *self.where, 1000, **FAR) for _ in range(2)]
            for process in pair:
                self.ends_well(process)
        after = self.look()
        self.assertEqual((after['drained'], after['died']), (1, 0))
        self.assertGreaterEqual(after['served'], before['served'] + 10000)
        self.assertLessEqual(after['descriptors'], before['descriptors'] + 2)
        self.assert_memory(before, after, mappings=10, resident=6000)
        self.end(server)

    @unittest.skipUnless(os.environ.get('LCI_TESTS_LONG', '0') != '0', 'takes a minute: with --long')
    def test_hundreds_of_peers_are_connected_at_once(self):
        server = self.serve_far()
        self.far('client', 2)
        before = self.look()
        guests = []
        for i in range(300):
            guests.append(self.begin('guest', *self.where, 1, **(FAR if i % 3 else {})))
            self.assertEqual(guests[-1].stdout.readline(), 'ready\n')
        for guest in guests[::2]:
            guest.send_signal(signal.SIGUSR1)
            self.ends_well(guest)
        for guest in guests[1::4]:
            guest.kill()
        for guest in guests[3::4]:
            guest.send_signal(signal.SIGUSR1)
            self.ends_well(guest)
        for guest in guests[1::4]:
            guest.wait()
        end = time.monotonic() + PATIENCE
        while (after := self.look())['died'] != len(guests[1::4]) and time.monotonic() < end:
            pass
        self.assertEqual((after['died'], after['drained']), (len(guests[1::4]), 1))
        self.assertLessEqual(after['descriptors'], before['descriptors'] + 2)
        self.end(server)

    def test_refusals_say_what_to_do(self):
        self.serve_far(LCI_ATTR_ACCEPT_EXTERNAL_PEERS=0)
        self.assertRegex(self.once('try', self.where[0], **FAR).stdout,
                         '^resource_error .*refuses.*LCI_ATTR_ACCEPT_EXTERNAL_PEERS')
        self.serve_far(LCI_ATTR_MAX_PEERS=1)
        victim = self.begin('victim', *self.where, 1, **FAR)
        self.assertEqual(victim.stdout.readline(), 'ready\n')
        self.assertRegex(self.once('try', self.where[0], **FAR).stdout, '^resource_error .*refuses.*LCI_ATTR_MAX_PEERS')

    def test_a_server_that_makes_no_progress_times_out(self):
        process = self.begin('address', **{LISTEN: 'tcp://127.0.0.1:0'})
        address = process.stdout.readline().split()[0]
        self.assertRegex(self.once('try', address, '0.3', **FAR).stdout, '^peer_failure_error .*did not answer in time')
        process.send_signal(signal.SIGKILL)

    def test_connecting_to_the_own_address_gives_the_own_rank(self):
        for where in ('tcp://127.0.0.1:0', 'tcp://[::1]:0'):
            self.assertEqual(self.once('self', **{LISTEN: where}).returncode, 0)

    def test_invalid_attributes_are_refused(self):
        for env, words in (({LISTEN: 'tcp://0.0.0.0:0'}, 'peer_listen.*loopback.*peer_key_file.*peer_auth'),
                           ({LISTEN: 'udp://127.0.0.1:0'}, 'peer_listen = "udp'),
                           ({LISTEN: 'tcp://127.0.0.1:70000'}, 'peer_listen'),
                           ({LISTEN: 'tcp://203.0.113.1:0', 'LCI_ATTR_PEER_AUTH': 'none'}, 'resource_error.*203.0.113.1'),
                           ({'LCI_ATTR_PEER_AUTH': 'kerberos'}, 'peer_auth = "kerberos"'),
                           ({'LCI_ATTR_PEER_AUTH': 'secret'}, 'peer_key_file = empty')):
            with self.subTest(str(env)):
                result = self.once('self', **env)
                self.assertNotEqual(result.returncode, 0)
                self.assertRegex(result.stderr.replace('\n', ' '), words)
        self.assertRegex(self.once('try', 'tcp://203.0.113.1:1', '1').stdout, '^invalid_argument_error .*loopback')

    def test_every_host_may_connect_if_the_program_says_so(self):
        server = self.serve_far('tcp://0.0.0.0:0', LCI_ATTR_PEER_AUTH='none')
        self.far('client', LCI_ATTR_PEER_AUTH='none')
        self.end(server) if self.where[0].startswith('tcp://127.') else self.far('end', LCI_ATTR_PEER_AUTH='none')

    # --- keys ---

    def test_peers_with_one_key_connect_and_others_are_refused(self):
        good = self.key('0123456789abcdef' * 2 + '\n')
        server = self.serve_far('tcp://0.0.0.0:0', **good)
        self.far('client', 2, **self.key('0123456789abcdef' * 2))  # a copy, whatever its last line feed
        for env, words in ((self.key('0123456789abcdeg' * 2), 'its key is another one'),
                           ({'LCI_ATTR_PEER_AUTH': 'none'}, 'it asks for a key.*LCI_ATTR_PEER_KEY_FILE')):
            self.assertRegex(self.once('try', self.where[0], **FAR, **env).stdout, '^resource_error .*refuses.*' + words)
        # Without a key on this side only.
        address = self.where[0]
        self.assertRegex(self.once('try', address, **FAR).stdout,
                         '^(resource_error .*it asks for a key|invalid_argument_error .*loopback)')
        self.far('client', **good)
        self.far('end', **good)
        self.ends_well(server)
        self.serve_far()
        self.assertRegex(self.once('try', self.where[0], **FAR, **good).stdout, '^resource_error .*it has no key')

    def test_key_files_that_others_may_read_or_that_are_short_are_refused(self):
        for env, words in ((self.key('x' * 32, 0o644), 'others may read'), (self.key('x' * 15), 'shorter'),
                           (self.key('x' * 5000), 'longer'), ({'LCI_ATTR_PEER_KEY_FILE': '/nonexistent'}, 'No such file')):
            result = self.once('self', **env)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn('peer_key_file', result.stderr)
            self.assertIn(words, result.stderr)

    def test_proofs_of_one_connection_are_refused_in_another(self):
        server = self.serve_far('tcp://127.0.0.1:0', **self.key('k' * 32))
        s = socket.create_connection(Stranger(self.where[0]).to, timeout=PATIENCE)
        self.addCleanup(s.close)
        h = bytearray(hello(CONTROL, os.urandom(16)))
        h[9] = 1  # claims to have a key
        s.sendall(h)
        challenge = read_all(s, CHALLENGE)
        self.assertEqual(challenge[8], GOOD)
        s.sendall(challenge[25:57])  # the server's own proof
        self.assertEqual(read_all(s, OUTCOME)[8], 8)  # wrong_key
        self.assertEqual(s.recv(1), b'')
        server.send_signal(signal.SIGKILL)

    # --- connections that make no sense ---

    def test_floods_and_garbage_use_bounded_resources_and_affect_no_other_peer(self):
        server = self.serve_far(LCI_ATTR_MAX_PEERS=16)
        self.far('client', 5)
        before = self.look()
        stranger, seed = Stranger(self.where[0]), random.randrange(1 << 30)
        pick = random.Random(seed)
        kept = []
        good = [self.begin('client', *self.where, 20, **FAR) for _ in range(2)]
        for i in range(10000):
            s = socket.create_connection(stranger.to, timeout=PATIENCE)
            what = pick.randrange(6)
            try:
                if what == 1:
                    s.sendall(pick.randbytes(pick.randrange(1, 200)))
                elif what == 2:
                    s.sendall(hello(CONTROL)[:pick.randrange(1, HELLO)])
                elif what == 3:
                    s.sendall(hello(CONTROL)[:-1] + b'\0')  # and no proof
                elif what == 4:
                    s.sendall(hello(LINK, os.urandom(16)) + b'\0' * 32)
                elif what == 5:
                    h = bytearray(hello(CONTROL))
                    h[pick.randrange(HELLO)] ^= 1 << pick.randrange(8)
                    s.sendall(h)
            except OSError:
                pass
            kept.append(s)  # silent, until many others have come
            if len(kept) > 200:
                kept.pop(0).close()
            if i == 5000:
                self.assertLess(len(os.listdir(f'/proc/{server.pid}/fd')), before['descriptors'] + 200, seed)
        for process in good:
            self.ends_well(process)
        for s in kept:
            s.close()
        self.far('client', 5)
        after = self.look()
        self.assertEqual(after['drained'], 1)
        self.assertLessEqual(after['descriptors'], before['descriptors'] + 40, seed)
        self.assert_memory(before, after, resident=8000)
        self.end(server)

    def test_garbage_after_a_good_introduction_ends_only_that_connection(self):
        server = self.serve_far()
        self.far('client', 2)
        stranger = Stranger(self.where[0])
        message, put, get, data = 0x4c434900, 0x4c434902, 0x4c434903, 0x4c434904
        frames = [struct.pack('<II', 0xffffffff, message), struct.pack('<II', 1 << 25, message), b'\xff' * 64,
                  struct.pack('<IIQQQ', 24, get, 4096, 1, 1 << 60) + b'\0' * 8,
                  struct.pack('<IIQQII', 24 + 64, put, 4096, 1, 0, 0) + b'x' * 64 + b'\0' * 8,
                  struct.pack('<II', 64, data) + b'x' * 72, struct.pack('<II', 7, get), b'', b'\0' * 3]
        before = self.look()
        for frame in frames:
            with self.subTest(frame):
                control, link = stranger.link()
                link.sendall(frame)
                if len(frame) < 8:
                    link.close()
                link.settimeout(20) if len(frame) >= 8 else None
                # The server closes both.
                control.settimeout(20)
                try:
                    self.assertEqual(control.recv(1), b'')
                except ConnectionError:
                    pass
                control.close()
                link.close()
                self.far('client')
        after = self.look()
        self.assertEqual(after['died'], len(frames))
        self.assertLessEqual(after['descriptors'], before['descriptors'] + 2)
        self.assert_memory(before, after, resident=8000)
        self.end(server)

if __name__ == '__main__':
    unittest.main()
