"""Jobs on several hosts: the choice of networks, and faults of the network between hosts."""

import os
import shutil
import sys
import time
import unittest

from hosts import Network, finish, missing

LCIRUN = os.environ['LCIRUN']
EXCHANGE_HELPER = os.environ['EXCHANGE_HELPER']
PARTNER = os.environ['PARTNER']
HELLO = os.environ['HELLO']
WHY_NOT = missing()
WITH_OFI = os.environ['WITH_OFI'] == 'true'
LONG = os.environ.get('LCI_TESTS_LONG', '0') != '0'
TIMEOUT = 3  # seconds after which a peer counts as failed


@unittest.skipIf(WHY_NOT, WHY_NOT)
class TwoHosts(unittest.TestCase):
    n_hosts = 2
    settings = {}
    without_long = ''  # the beginnings of the names of tests that run without --long; empty: all

    def setUp(self):
        if not LONG and not self._testMethodName.startswith(self.without_long):
            self.skipTest('tested with two hosts and libfabric; so with --long')

    @classmethod
    def setUpClass(cls):
        cls.network = Network(cls.n_hosts)

    @classmethod
    def tearDownClass(cls):
        cls.network.close()

    def partners(self, n_ranks, scene, seconds, fault=None, timeout=120, peer_timeout=TIMEOUT, **env):
        """Runs a job and calls `fault` when all its ranks are ready. Checks that it succeeds; returns its output."""
        per_host = n_ranks // self.n_hosts
        job = self.network.launch(LCIRUN, n_ranks, [PARTNER, scene, per_host, seconds],
                                  LCI_ATTR_PEER_TIMEOUT=peer_timeout, **self.settings, **env)
        ready = ''
        if fault is not None:
            while ready.count('ready') < n_ranks:
                line = job.stdout.readline()
                self.assertTrue(line, ready)
                ready += line
            fault()
            self.begin = time.monotonic()
        code, out = finish(job, timeout)
        self.took = time.monotonic() - self.begin if fault is not None else None
        self.assertEqual(code, 0, ready + out)
        return ready + out

    def told_of_all(self, out, n_ranks):
        """Checks that the failure of each rank of other hosts was reported to each rank."""
        per_host = n_ranks // self.n_hosts
        self.assertEqual(out.count(' has failed: '), n_ranks * (n_ranks - per_host), out)

    def test_messages_of_all_sizes_with_all_ranks(self):
        for per_host in (1, 2):
            with self.subTest(ranks_per_host=per_host):
                out = self.partners(per_host * self.n_hosts, 'exchange', 1)
                self.assertIn(' rounds', out)

    def test_ranks_that_connect_one_by_one(self):
        for knows in (True, False):
            with self.subTest(launcher_knows=knows):
                out = self.partners(2 * self.n_hosts, 'exchange', 1, launcher_knows=knows, LCI_ATTR_EAGER_ADDRESSES=0)
                self.assertIn(' rounds', out)

    def test_one_fence_if_the_launcher_reports_the_hosts(self):
        n = 2 * self.n_hosts
        for knows, eager, start in ((True, 64, f'fences=1 reads={n - 1}'), (True, 0, 'fences=1 reads=1'),
                                    (False, 64, f'fences=2 reads={2 * n - 2}'), (False, 0, f'fences=2 reads={n - 1}')):
            with self.subTest(launcher_knows=knows, eager_addresses=eager):
                code, out = self.network.run(LCIRUN, n, [EXCHANGE_HELPER, 1], launcher_knows=knows,
                                             LCI_ATTR_EAGER_ADDRESSES=eager, **self.settings)
                self.assertEqual(code, 0, out)
                self.assertEqual(out.count('start ' + start), n, out)

    def test_shared_memory_alone_does_not_reach_other_hosts(self):
        # Each rank reports so, whatever the launcher knows.
        code, out = self.network.run(LCIRUN, self.n_hosts, [HELLO], launcher_knows=True, LCI_ATTR_BACKEND='shm')
        self.assertNotEqual(code, 0)
        self.assertIn('LCI_ATTR_BACKEND=auto chooses', out)

    def test_shared_memory_does_not_reach_another_host(self):
        code, out = self.network.run(LCIRUN, self.n_hosts, [HELLO], LCI_ATTR_BACKEND='shm')
        self.assertNotEqual(code, 0)
        self.assertIn('LCI_ATTR_BACKEND=auto chooses', out)

    def test_a_cut_link_is_reported_to_waiting_ranks(self):
        self.cut_link('waiting')

    def test_a_cut_link_is_reported_to_sending_ranks(self):
        self.cut_link('sending')

    def cut_link(self, scene):
        for per_host in (1, 2):
            with self.subTest(ranks_per_host=per_host):
                n = per_host * self.n_hosts
                try:
                    out = self.partners(n, scene, 30,
                                        lambda: [self.network.cut(h) for h in range(1, self.n_hosts)])
                    self.told_of_all(out, n)
                    # Keepalive counts whole seconds; then devices wait 2 seconds for close notifications.
                    self.assertLess(self.took, TIMEOUT + 7, out)
                finally:
                    for host in range(1, self.n_hosts):
                        self.network.mend(host)

    def test_a_link_that_is_cut_for_a_moment_loses_nothing(self):
        def fault():
            self.network.cut(1)
            time.sleep(0.5)
            self.network.mend(1)
        self.partners(self.n_hosts, 'exchange', 3, fault)

    def test_a_host_that_can_not_be_reached_at_first_is_tried_again(self):
        def fault():
            self.network.cut(1)
            time.sleep(6)  # the kernel gives up after 3 s
            self.network.mend(1)
        for per_host in (1, 2):
            with self.subTest(ranks_per_host=per_host):
                self.partners(per_host * self.n_hosts, 'late', 1, fault, peer_timeout=20)

    def filtered(self, rule, act):
        if shutil.which('nft') is None:
            self.skipTest('no nft (Debian: nftables)')
        def filter_all(rule):
            for host in range(1, self.n_hosts):
                self.network.filter(host, rule)
        try:
            act(lambda: filter_all(rule))
        finally:
            filter_all('')

    def test_lost_packets_cost_time_only(self):
        self.filtered('meta l4proto tcp numgen random mod 100 < 2 drop',
                      lambda fault: self.partners(self.n_hosts, 'exchange', 3, fault))

    def test_reset_connections_are_reported(self):
        for scene in ('waiting', 'sending'):
            def act(fault, scene=scene):
                out = self.partners(self.n_hosts, scene, 30, fault)
                self.told_of_all(out, self.n_hosts)
            with self.subTest(scene):
                self.filtered('meta l4proto tcp reject with tcp reset', act)


class ThreeHosts(TwoHosts):
    n_hosts = 3
    without_long = ('test_messages', 'test_one_fence', 'test_a_cut_link_is_reported_to_sending')


# Without libfabric the other tests use sockets, too.
@unittest.skipUnless(WITH_OFI, 'built without libfabric (Debian: libfabric-dev)')
class TwoHostsOverSockets(TwoHosts):
    settings = {'FI_PROVIDER': 'shm'}  # no other provider of libfabric, so none reaches other hosts
    without_long = ('test_messages', 'test_ranks', 'test_a_cut_link_is_reported_to_waiting', 'test_reset')


if __name__ == '__main__':
    if WHY_NOT:
        print(WHY_NOT)
        sys.exit(77)
    unittest.main()
