"""Peers outside of the job over libfabric: ofi+PROVIDER://HOST:PORT."""

import os
import re
import signal
import socket
import struct
import time
import unittest

from far_peers import FAR, LISTEN, FarPeersTest, TestsOfEachNetwork
from support import PATIENCE
from test_peers_tcp import CONTROL, GOOD, LINK, OUTCOME, CHALLENGE, read_all

OFFER = 288  # bytes of what both ends of a stream tell each other
OTHER_NETWORK = 13


def number_of(provider):
    """FNV-1a, as in a hello."""
    number = 14695981039346656037
    for c in provider.encode():
        number = (number ^ c) * 1099511628211 % (1 << 64)
    return number


def introduce(address, what, token, provider):
    """A connection of a process without a key; returns it with the verdict and the token."""
    host, port = re.fullmatch(r'\S+://\[?([^]]*)\]?:(\d+)', address).groups()
    s = socket.create_connection((host, int(port)), timeout=PATIENCE)
    s.sendall(struct.pack('<8sBBHI16s16sQQ', b'LCIpeer1', what, 0, 0, 8192, os.urandom(16), token, 0,
                          number_of(provider)))
    read_all(s, CHALLENGE)
    s.sendall(b'\0' * 32)
    outcome = read_all(s, OUTCOME)
    return s, outcome[8], outcome[13:29]


# Without it, each process asks all providers of libfabric for their devices: a tenth of a second of work.
FEW = {'FI_PROVIDER': 'tcp,net'}


@unittest.skipUnless(os.environ['WITH_OFI'] == 'true', 'this build has no libfabric')
class PeersOverLibfabric(TestsOfEachNetwork, FarPeersTest):
    provider = 'tcp'
    listens_at = 'ofi+tcp://127.0.0.1:0'

    def begin(self, *words, **env):
        return super().begin(*words, **FEW, **env)

    def once(self, *words, **env):
        return super().once(*words, **FEW, **env)

    def serve_far(self, where='ofi+tcp://127.0.0.1:0', **env):
        server = self.serve(**{LISTEN: where}, **env)
        self.assertRegex(self.where[0], r'^ofi\+\S+://\S+:[1-9]\d*$')
        return server

    def test_all_operations_work(self):
        server = self.serve_far()
        self.far('client', 3)
        self.far('large')
        self.end(server)

    def test_providers_are_named_as_libfabric_names_them(self):
        for provider in ('tcp;ofi_rxm', 'net'):
            with self.subTest(provider):
                server = self.serve_far(f'ofi+{provider}://127.0.0.1:0')
                self.far('client', 2)
                self.far('large')
                self.end(server)

    def test_runtimes_of_any_network_connect(self):
        server = self.serve_far(**FAR)
        self.client('client', 2)
        self.client('client', LCI_ATTR_BACKEND='ofi', LCI_ATTR_OFI_PROVIDER_NAME='tcp')
        self.end(server)

    def test_peers_of_one_host_use_shared_memory(self):
        server = self.serve_far()
        fabric = self.begin('victim', *self.where, 1, **FAR)
        near = self.begin('victim', *self.where, 1)
        for process, ports in ((fabric, 2), (near, 0)):
            self.assertEqual(process.stdout.readline(), 'ready\n')
            # The first message makes the provider's connection. The one over which the link was offered ends then, and
            # may be counted before: the number has to last.
            end, in_a_row = time.monotonic() + PATIENCE, 0
            while in_a_row < 10 and time.monotonic() < end:
                in_a_row = in_a_row + 1 if self.tcp_connections(process) >= ports else 0
                time.sleep(0.01)
            self.assertEqual(in_a_row, 10)
        self.assertEqual(self.tcp_connections(near), 0)
        for process in (fabric, near):
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.end(server)

    @staticmethod
    def tcp_connections(process):
        """How many sockets of a process are connected."""
        mine = set()
        for fd in os.listdir(f'/proc/{process.pid}/fd'):
            try:
                mine.add(os.readlink(f'/proc/{process.pid}/fd/{fd}'))
            except OSError:
                pass
        n = 0
        with open('/proc/net/tcp') as table:
            for line in list(table)[1:]:
                words = line.split()
                n += words[3] == '01' and f'socket:[{words[9]}]' in mine
        return n

    def test_a_server_listens_for_several_networks(self):
        with socket.socket() as s:
            s.bind(('127.0.0.1', 0))
            port = s.getsockname()[1]
        server = self.serve_far(f'ofi+tcp://127.0.0.1:0,tcp://127.0.0.1:{port},ofi+net://127.0.0.1:0')
        self.far('client')
        fabric = self.where[0]
        self.where[0] = f'tcp://127.0.0.1:{port}'
        self.far('client')
        # Each port serves the network of its URL only.
        for wrong in (fabric.replace('ofi+tcp', 'tcp'), fabric.replace('ofi+tcp', 'ofi+net'),
                      f'ofi+tcp://127.0.0.1:{port}'):
            self.assertRegex(self.once('try', wrong, **FAR).stdout, '^resource_error .*refuses.*another network')
        self.far('client')
        self.end(server)

    def test_invalid_addresses_say_what_is_wrong(self):
        for where, words in (('ofi+nonsense://127.0.0.1:0', 'peer_listen = "?nonsense.*one of: .*tcp;ofi_rxm on'),
                             ('ofi+://127.0.0.1:0', 'peer_listen = "ofi\\+://.*ofi\\+PROVIDER://HOST:PORT'),
                             ('ofi+a b://127.0.0.1:0', 'peer_listen = "ofi\\+a b'),
                             ('ofi+tcp://127.0.0.1', 'peer_listen = "ofi\\+tcp'),
                             ('ofi+tcp://0.0.0.0:0', 'peer_listen.*loopback.*peer_key_file')):
            with self.subTest(where):
                result = self.once('self', **{LISTEN: where})
                self.assertNotEqual(result.returncode, 0)
                self.assertRegex(result.stderr.replace('\n', ' '), words)
        self.assertRegex(self.once('try', 'ofi+nonsense://127.0.0.1:1', **FAR).stdout,
                         '^invalid_argument_error .*connect: address = "?nonsense.*one of: .*tcp;ofi_rxm on')

    def test_connecting_to_the_own_address_gives_the_own_rank(self):
        self.assertEqual(self.once('self', **{LISTEN: 'ofi+tcp://127.0.0.1:0'}).returncode, 0)

    def test_every_host_may_connect_if_the_program_says_so(self):
        free = {'LCI_ATTR_PEER_AUTH': 'none'}
        server = self.serve_far('ofi+tcp://0.0.0.0:0', **free)
        self.far('client', **free)
        self.far('end', **free)
        self.ends_well(server)

    # --- who may connect ---

    def test_peers_with_one_key_connect_and_others_are_refused(self):
        good = self.key('0123456789abcdef' * 2)
        server = self.serve_far(**good)
        self.far('client', 2, **good)
        for env, words in ((self.key('0123456789abcdeg' * 2), 'its key is another one'), ({}, 'it asks for a key')):
            self.assertRegex(self.once('try', self.where[0], **FAR, **env).stdout,
                             '^resource_error .*refuses.*' + words)
        self.far('client', **good)
        self.far('end', **good)
        self.ends_well(server)

    # --- peers that end ---

    def test_clients_connect_and_disconnect_and_no_resources_are_left(self):
        """Two hundred connections."""
        server = self.serve_far()
        self.far('client', 10)
        before = self.look()
        crowd = [self.begin('client', *self.where, 25, **FAR) for _ in range(4)]
        for process in crowd:
            self.ends_well(process)
        for _ in range(10):
            self.far('client', 10)
        self.far('no_disconnect')
        after = self.look()
        self.assertEqual((after['drained'], after['died']), (1, 0))
        self.assertLessEqual(after['descriptors'], before['descriptors'] + 2)
        self.assert_memory(before, after, mappings=20, resident=8000)
        self.end(server)

    def test_a_message_within_a_second_does_not_wait_for_polls_that_sleep(self):
        """A sleeping server is woken: round trips in bounded time."""
        server = self.serve_far()
        output = self.far('rhythm', 10)
        self.assertLess(int(output.splitlines()[-1]), 500)
        self.end(server)

    # --- strangers ---

    def test_streams_that_make_no_sense_end_only_their_own_connection(self):
        server = self.serve_far()
        self.far('client', 2)
        before = self.look()
        magic = b'LCIflow1'
        offers = [b'', b'x' * OFFER, magic + b'\xff' * (OFFER - 8), magic[:5],
                  struct.pack('<8sII16s', magic, 1, 8, os.urandom(16)).ljust(OFFER, b'\0'),  # a name of zeros
                  struct.pack('<8sII16s', magic, 1, 256, os.urandom(16)).ljust(OFFER, b'\xff')]
        for offer in offers:
            with self.subTest(offer[:40]):
                control, verdict, token = introduce(self.where[0], CONTROL, os.urandom(16), self.provider)
                self.assertEqual(verdict, GOOD)
                link, verdict, _ = introduce(self.where[0], LINK, token, self.provider)
                self.assertEqual(verdict, GOOD)
                link.sendall(offer)
                link.close()
                control.settimeout(1)
                try:
                    self.assertEqual(control.recv(1), b'')
                except (socket.timeout, ConnectionError):
                    pass  # the provider may accept any name; then closing the control connection is the end
                control.close()
                self.far('client')
        end = time.monotonic() + 20
        while (after := self.look())['died'] != len(offers) and time.monotonic() < end:
            pass
        self.assertEqual((after['died'], after['drained']), (len(offers), 1))
        self.assertLessEqual(after['descriptors'], before['descriptors'] + 2)
        self.end(server)

    def test_an_offered_stream_does_not_reveal_the_token_of_another_one(self):
        """Each link has a token of its own, which only its socket carries."""
        server = self.serve_far()
        tokens = set()
        for _ in range(3):
            control, verdict, token = introduce(self.where[0], CONTROL, os.urandom(16), self.provider)
            link, verdict, _ = introduce(self.where[0], LINK, token, self.provider)
            offer = read_all(link, OFFER)
            self.assertEqual(offer[:8], b'LCIflow1')
            tokens.add(offer[16:32])
            control.close()
            link.close()
        self.assertEqual(len(tokens), 3)
        self.assertNotIn(b'\0' * 16, tokens)
        wrong, verdict, _ = introduce(self.where[0], CONTROL, os.urandom(16), 'net')
        self.assertEqual(verdict, OTHER_NETWORK)
        wrong.close()
        self.end(server)


if __name__ == '__main__':
    unittest.main()
