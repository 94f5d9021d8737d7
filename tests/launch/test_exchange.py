"""The requests that ranks send to the launcher in order to connect: one fence at the start, and, where addresses are
read on demand, no read of the address of a peer without messages."""

import os
import re
import tempfile
import unittest

from support import LaunchTest, free_ports, lcirun

HELPER = os.environ['EXCHANGE_HELPER']
OFI = {'LCI_ATTR_OFI_PROVIDER_NAME': 'tcp'}
TWO_HOSTS = {**OFI, 'LCI_ATTR_RANKS_PER_HOST': 2}
LAZY = {'LCI_ATTR_EAGER_ADDRESSES': 0}
WITHOUT_OFI = os.environ['WITH_OFI'] != 'true'


class Exchange(LaunchTest):
    def counts(self, n_ranks, *words, **env):
        """By phase, then by rank: (fences, values read)."""
        result = lcirun('-n', n_ranks, HELPER, *words, **env)
        self.assertEqual(result.returncode, 0, result.stderr)
        seen = {}
        for rank, when, fences, reads in re.findall(r'rank=(\d+) (\w+) fences=(\d+) reads=(\d+)', result.stdout):
            seen.setdefault(when, {})[int(rank)] = (int(fences), int(reads))
        for when in ('start', 'met', 'devices', 'end'):
            self.assertEqual(len(seen[when]), n_ranks, result.stdout)
        return {when: [of[r] for r in range(n_ranks)] for when, of in seen.items()}

    def failed(self, n_ranks, changed, *words, rank=1, **env):
        """Runs a job that must fail, in which only one rank has the variables `changed`. Returns its stderr."""
        change = ' '.join(f'{k}={v}' for k, v in changed.items())
        result = lcirun('-n', n_ranks, 'sh', '-c',
                        f'test $PMI_RANK != {rank} || export {change}; exec "$@"', 'sh', HELPER, *words, **env)
        self.assertNotEqual(result.returncode, 0)
        return result.stderr

    def test_a_single_rank_sends_no_request(self):
        seen = self.counts(1, 0)
        self.assertEqual(seen['end'], [(0, 0)])

    def test_ranks_of_one_host_need_one_fence(self):
        seen = self.counts(3)
        self.assertEqual(seen['start'], [(1, 2)] * 3)
        self.assertEqual(seen['end'], [(1, 2)] * 3)

    def test_more_devices_on_one_host_need_no_exchange(self):
        self.assertEqual(self.counts(2, '--devices', 3, 1)['end'], [(1, 1)] * 2)

    @unittest.skipIf(WITHOUT_OFI, 'built without libfabric (Debian: libfabric-dev)')
    def test_ranks_without_shared_memory_need_one_fence(self):
        for how in ({'LCI_ATTR_BACKEND': 'ofi', **OFI}, TWO_HOSTS):
            with self.subTest(how):
                seen = self.counts(4, 1, 2, 3, **how)
                self.assertEqual(seen['start'], [(1, 3)] * 4)
                self.assertEqual(seen['end'], [(1, 3)] * 4)

    @unittest.skipIf(WITHOUT_OFI, 'built without libfabric (Debian: libfabric-dev)')
    def test_ranks_use_the_hosts_that_the_launcher_gives(self):
        # The launcher's variables are wrong: there is one host, so the network between hosts is not needed.
        result = lcirun('-n', 4, 'sh', '-c', 'export MPI_LOCALRANKID=$((PMI_RANK % 2)) MPI_LOCALNRANKS=2; exec "$@"',
                        'sh', HELPER, 1, 2, **OFI)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.count('end fences=1 reads=3'), 4, result.stdout)

    def test_ranks_exchange_hosts_if_the_launcher_gives_none(self):
        result = lcirun('-n', 4, 'sh', '-c', 'unset MPI_LOCALRANKID MPI_LOCALNRANKS; exec "$@"', 'sh', HELPER, 1, 2)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.count('end fences=1 reads=3'), 4, result.stdout)

    @unittest.skipIf(WITHOUT_OFI, 'built without libfabric (Debian: libfabric-dev)')
    def test_addresses_of_peers_that_do_not_communicate_are_not_read(self):
        seen = self.counts(4, LCI_ATTR_BACKEND='ofi', **OFI, **LAZY)
        self.assertEqual(seen['end'], [(1, 0)] * 4)
        seen = self.counts(4, 2, LCI_ATTR_BACKEND='ofi', **OFI, **LAZY)
        self.assertEqual(seen['end'], [(1, 1)] * 4)

    @unittest.skipIf(WITHOUT_OFI, 'built without libfabric (Debian: libfabric-dev)')
    def test_addresses_of_peers_of_other_hosts_that_do_not_communicate_are_not_read(self):
        seen = self.counts(4, 2, **TWO_HOSTS, **LAZY)
        self.assertEqual(seen['start'], [(1, 1)] * 4)  # the other rank of the host
        self.assertEqual(seen['met'], [(1, 2)] * 4)
        self.assertEqual(seen['end'], [(1, 2)] * 4)
        self.assertEqual(self.counts(4, 1, 2, 3, **TWO_HOSTS, **LAZY)['end'], [(1, 3)] * 4)

    @unittest.skipIf(WITHOUT_OFI, 'built without libfabric (Debian: libfabric-dev)')
    def test_ranks_of_a_host_without_consecutive_numbers_connect_on_demand(self):
        result = lcirun('-n', 4, 'sh', '-c', 'export MPI_LOCALRANKID=$((PMI_RANK / 2)) MPI_LOCALNRANKS=2; exec "$@"',
                        'sh', HELPER, 2, **OFI, **LAZY)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.count('end fences=1 reads=2'), 4, result.stdout)

    @unittest.skipIf(WITHOUT_OFI, 'built without libfabric (Debian: libfabric-dev)')
    def test_each_later_device_needs_one_exchange(self):
        seen = self.counts(4, '--devices', 2, 2, **TWO_HOSTS)
        self.assertEqual(seen['devices'], [(3, 9)] * 4)
        # Before a further fence the addresses that are still missing are read; of the last device, only those in use.
        seen = self.counts(4, '--devices', 2, 2, **TWO_HOSTS, **LAZY)
        self.assertEqual(seen['devices'], [(3, 6)] * 4)
        self.assertEqual(seen['end'], [(3, 7)] * 4)

    @unittest.skipIf(WITHOUT_OFI, 'built without libfabric (Debian: libfabric-dev)')
    def test_a_thread_connects_to_a_peer_while_another_is_in_a_fence(self):
        for eager in ({}, LAZY):
            with self.subTest(eager):
                result = lcirun('-n', 4, HELPER, '--during-fence', LCI_ATTR_BOOTSTRAP_TIMEOUT=20, **TWO_HOSTS, **eager)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(result.stdout.count('through fences=2'), 4, result.stdout)

    def test_messages_that_wait_for_room_are_sent_during_a_fence(self):
        with tempfile.TemporaryDirectory() as folder:
            for kind, env in (('pmi1', {}),
                              ('file', {'LCT_PMI_FILE_NAME': folder + '/job', 'LCT_PMI_FILE_NRANKS': 3}),
                              ('tcp', {'WORLD_SIZE': 3, 'LCI_TCP_ROOT': f'localhost:{free_ports(1)[0]}'})):
                with self.subTest(kind):
                    result = lcirun('-n', 3, 'sh', '-c', 'RANK=$PMI_RANK exec "$@"', 'sh', HELPER, '--queued',
                                    LCI_ATTR_BOOTSTRAP=kind, LCI_ATTR_BOOTSTRAP_TIMEOUT=20, **env)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertEqual(result.stdout.count('through fences=2'), 3, result.stdout)

    @unittest.skipIf(WITHOUT_OFI, 'built without libfabric (Debian: libfabric-dev)')
    def test_ranks_with_different_settings_are_errors(self):
        between_hosts = {'LCI_ATTR_RANKS_PER_HOST': 1}
        small = {'LCI_ATTR_PACKET_SIZE': 4096}
        # With eager addresses ranks choose a network that all can use; otherwise connecting throws.
        result = lcirun('-n', 2, 'sh', '-c', 'test $PMI_RANK = 0 || export FI_PROVIDER=shm; exec "$@"', 'sh',
                        HELPER, 1, **between_hosts, **OFI)
        self.assertEqual(result.returncode, 0, result.stderr)
        output = self.failed(2, {'FI_PROVIDER': 'shm'}, 1, **between_hosts, **OFI, **LAZY)
        either_reports = r'rank (1 uses {1}, but rank 0 {0}|0 uses {0}, but rank 1 {1}).*LCI_ATTR_BACKEND'
        self.assertRegex(output, either_reports.format('ofi', 'tcp'))
        # libfabric's tcp is used only if there is no other network, or if it is requested.
        result = lcirun('-n', 2, 'sh', '-c', 'test $PMI_RANK = 0 || export LCI_ATTR_OFI_PROVIDER_NAME=tcp; exec "$@"',
                        'sh', HELPER, 1, **between_hosts)
        self.assertEqual(result.returncode, 0, result.stderr)
        output = self.failed(2, OFI, 1, **between_hosts, **LAZY)
        self.assertRegex(output, either_reports.format('tcp', 'ofi'))
        # With eager addresses ranks agree on the smaller packets; otherwise connecting throws.
        result = lcirun('-n', 2, 'sh', '-c', 'test $PMI_RANK = 0 || export LCI_ATTR_PACKET_SIZE=4096; exec "$@"', 'sh',
                        HELPER, 1, **between_hosts, **OFI)
        self.assertEqual(result.returncode, 0, result.stderr)
        output = self.failed(2, small, 1, **between_hosts, **OFI, **LAZY)
        self.assertRegex(output, r'rank 1 takes messages of \d+ bytes at most.*LCI_ATTR_PACKET_SIZE')
        output = self.failed(2, {'LCI_ATTR_OFI_PROVIDER_NAME': 'shm'}, 1, LCI_ATTR_BACKEND='ofi', **OFI, **LAZY)
        self.assertRegex(output, r'ofi: rank \d uses (shm|tcp;ofi_rxm), but rank \d (shm|tcp;ofi_rxm)')
        output = self.failed(2, {'LCI_ATTR_BACKEND': 'ofi'}, 1, **OFI)
        self.assertRegex(output, 'has published its address in another format|these did not come|lost')


if __name__ == '__main__':
    unittest.main()
