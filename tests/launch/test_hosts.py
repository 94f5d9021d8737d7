"""Ranks of several hosts, which are namespaces of this one, connect over TCP."""

import os
import subprocess
import sys
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'net'))
from hosts import Network, missing  # noqa: E402
from support import HELPER, PATIENCE, LaunchTest, clean_environment  # noqa: E402

WHY_NOT = missing()
HELLO = os.environ['HELLO']
NO_OFI = '' if os.environ['WITH_OFI'] == 'true' else 'built without libfabric (Debian: libfabric-dev)'


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Hosts(LaunchTest):
    n_hosts = 2

    def setUp(self):
        super().setUp()
        self.network = Network(self.n_hosts)
        self.addCleanup(self.network.close)

    def start(self, n, *words, timeout=30, **env):
        """The same number of ranks on each host; rank 0 is on the first."""
        env = {'WORLD_SIZE': n, 'MASTER_ADDR': self.network.hosts[0].address, 'MASTER_PORT': 29500,
               'LCI_ATTR_BOOTSTRAP_TIMEOUT': timeout, 'LCI_TCP_KEY': 'a secret key of the job',
               self.mark: 1, **env}
        processes = []
        for r in range(n):
            host = self.network.hosts[r * self.n_hosts // n]
            processes.append(subprocess.Popen(
                ['nsenter', '--target', str(host.first_process()), '--net', '--pid', '--mount', '--uts', '--ipc',
                 '--', *map(str, words)], env=clean_environment(RANK=r, **env), stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
            self.addCleanup(self._close, processes[-1])
        return processes

    def test_ranks_of_different_hosts_exchange_values(self):
        for p in self.start(4, HELPER, 'exchange', 2):
            out, _ = p.communicate(timeout=PATIENCE)
            self.assertEqual(p.returncode, 0, out)

    @unittest.skipIf(NO_OFI, NO_OFI)
    def test_ranks_of_different_hosts_communicate(self):
        output = ''
        for p in self.start(4, HELLO):
            out, _ = p.communicate(timeout=PATIENCE)
            output += out
            self.assertEqual(p.returncode, 0, output)

    def test_a_host_that_is_disconnected_is_named(self):
        processes = self.start(4, HELPER, 'late', 3, 4, timeout=3)
        self.network.cut(1)
        for p in processes[:2]:
            out, _ = p.communicate(timeout=PATIENCE)
            self.assertEqual(p.returncode, 9, out)
            self.assertRegex(out, r'of 4 ranks, .*3')
        for p in processes[2:]:
            out, _ = p.communicate(timeout=PATIENCE)
            self.assertEqual(p.returncode, 9, out)


if __name__ == '__main__':
    unittest.main()
