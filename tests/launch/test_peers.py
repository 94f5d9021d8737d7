"""Processes that are started independently: they connect, communicate, disconnect, exit and are killed."""

import os
import re
import signal
import subprocess
import time
import unittest

from peers_support import PeersTest
from support import PATIENCE, clean_environment, run


class Peers(PeersTest):
    def connect_and_disconnect(self, **env):
        server = self.serve(**env)
        for _ in range(3):  # so that `before` contains what a server allocates only once
            self.client('client', 2, **env)
        before = self.look()
        clients = [self.begin('client', *self.where, 5, **env) for _ in range(4)]
        for process in clients:
            self.ends_well(process)
        for _ in range(6):
            self.client('client', 1, **env)
        self.client('no_disconnect', **env)
        after = self.look()
        self.assertEqual(after['drained'], 1)
        self.assertEqual(after['died'], 0)
        # One more descriptor: that by which the server watches the process of the client that requests the report.
        self.assertLessEqual(after['descriptors'], before['descriptors'] + 1)
        # Allocators may map a little more. A connection has two mappings: 30 connections that are left would have 60.
        self.assert_memory(before, after, mappings=10, resident=6000)
        self.end(server)

    def test_networks_without_external_peers_refuse_them(self):
        server = self.serve()
        for backend in ('tcp', 'ofi') if os.environ['WITH_OFI'] == 'true' else ('tcp',):
            with self.subTest(backend):
                result = self.once('refused', self.where[0], LCI_ATTR_BACKEND=backend, FI_PROVIDER='tcp')
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                output = result.stdout.splitlines()
                for line, operation in zip(output, ('get_address', 'connect')):
                    self.assertTrue(line.startswith(operation + ':'), line)
                    for word in ('net_context', backend, 'shared memory', 'LCI_ATTR_BACKEND'):
                        self.assertIn(word, line)
        self.client('client')  # the server still works
        self.end(server)

    def test_clients_connect_and_disconnect_and_no_resources_are_left(self):
        self.connect_and_disconnect()

    def test_clients_connect_and_disconnect_without_cross_memory_attach(self):
        self.connect_and_disconnect(LCI_ATTR_SHM_CMA=0)

    def test_ids_are_reused(self):
        """Twenty successive connections with three ids."""
        server = self.serve(LCI_ATTR_MAX_PEERS=3)
        self.client('client', 20)
        self.end(server)

    def test_no_resources_are_left_of_killed_clients(self):
        server = self.serve()
        self.client('client', 2)
        before = self.look()
        for _ in range(4):
            victim = self.begin('victim', *self.where, 1)
            self.assertEqual(victim.stdout.readline(), 'ready\n')
            self.client('client')  # another client, while the victim communicates
            victim.send_signal(signal.SIGKILL)
            victim.wait()
        end = time.monotonic() + 20
        while (after := self.look())['died'] != 4 and time.monotonic() < end:
            pass
        self.assertEqual(after['died'], 4)
        self.assertEqual(after['drained'], 1)
        # One more descriptor: that by which the server watches the process of the client that requests the report.
        self.assertLessEqual(after['descriptors'], before['descriptors'] + 1)
        self.assert_memory(before, after, mappings=6)
        self.end(server)

    def test_a_client_gets_the_failure_of_a_killed_server(self):
        server = self.serve()
        victim = self.begin('victim', *self.where, 1)
        self.assertEqual(victim.stdout.readline(), 'ready\n')
        server.send_signal(signal.SIGKILL)
        server.wait()
        _, err = victim.communicate(timeout=PATIENCE)
        self.assertNotEqual(victim.returncode, 0)
        self.assertIn('peer_failure_error', err)
        self.assertRegex(err, 'rank 1, a peer outside of the job, has failed')

    def test_a_server_that_accepts_no_peers_refuses(self):
        self.serve(LCI_ATTR_ACCEPT_EXTERNAL_PEERS=0)
        output = self.once('try', self.where[0]).stdout
        self.assertRegex(output, '^resource_error .*refuses.*LCI_ATTR_ACCEPT_EXTERNAL_PEERS')

    def test_a_server_without_free_ids_refuses(self):
        self.serve(LCI_ATTR_MAX_PEERS=1)
        victim = self.begin('victim', *self.where, 1)
        self.assertEqual(victim.stdout.readline(), 'ready\n')
        output = self.once('try', self.where[0]).stdout
        self.assertRegex(output, '^resource_error .*refuses.*LCI_ATTR_MAX_PEERS')

    def test_a_server_that_makes_no_progress_times_out(self):
        process = self.begin('address')
        address = process.stdout.readline().split()[0]
        output = self.once('try', address, '0.3').stdout
        self.assertRegex(output, '^peer_failure_error .*did not answer in time')
        process.send_signal(signal.SIGKILL)

    def test_a_server_that_has_ended_is_a_peer_failure(self):
        for killed in (True, False):
            server = self.serve()
            if killed:
                server.send_signal(signal.SIGKILL)
                server.wait()
            else:
                self.end(server)
            output = self.once('try', self.where[0]).stdout
            self.assertRegex(output, '^peer_failure_error .*has ended')

    def test_a_server_that_ends_during_connect_is_a_peer_failure(self):
        process = self.begin('address')
        address = process.stdout.readline().split()[0]
        connecting = self.begin('try', address)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertRegex(self.ends_well(connecting), '^peer_failure_error .*has ended')

    def test_invalid_addresses_are_refused(self):
        self.serve()
        good = self.where[0]
        for bad in ('', 'shm://', 'tcp://host', 'tcp://host:x', 'tcp://::1:1', good + ' ', good[:-1] + 'x', good[1:],
                    good.replace('/', '//', 1), '\u00e4' * 500):
            output = self.once('try', bad).stdout
            self.assertRegex(output, '^invalid_argument_error connect: address = .*get_address',
                             bad)
        # Well-formed addresses that differ from the one of this process.
        numbers = good.split('.')
        for i in range(1, len(numbers) - 1):
            changed = numbers[:]
            changed[i] = {'3': '4'}.get(changed[i], changed[i][:-1] + ('1' if changed[i][-1] != '1' else '2'))
            output = self.once('try', '.'.join(changed), '2').stdout
            self.assertRegex(output, '^(peer_failure|resource|invalid_argument)_error', i)
        self.assertRegex(self.once('try', re.sub('shm://.', 'shm://f' if good[6] != 'f' else 'shm://e',
                                                 good)).stdout,
                         '^resource_error .*another host')
        self.client('client')  # the server still works

    def test_connecting_to_the_own_address_gives_the_own_rank(self):
        self.assertEqual(self.once('self').returncode, 0)

    def test_get_address_is_refused_if_max_peers_is_0(self):
        result = self.once('self', LCI_ATTR_MAX_PEERS=0)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn('get_address: max_peers = 0', result.stderr)

    def test_the_example_service_adds_numbers(self):
        service = os.environ['SERVICE']
        server = subprocess.Popen([service], text=True, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env=clean_environment(**{self.mark: 1}))
        self.started.append(server)
        where = server.stdout.readline().strip()
        for numbers, sum_of_them in ((('3', '4'), '7'), (('0.5',), '0.5'), (('1',) * 1000, '1000')):
            output = run(service, where, *numbers, **{self.mark: 1})
            self.assertEqual((output.returncode, output.stdout), (0, sum_of_them + '\n'), output.stderr)
        self.assertEqual(run(service, where, **{self.mark: 1}).returncode, 0)
        self.ends_well(server)


if __name__ == '__main__':
    unittest.main()
