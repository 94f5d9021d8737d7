"""Jobs over libfabric, and settings that can't be satisfied."""

import os
import re
import unittest

from support import LaunchTest, lcirun, run

HELLO = os.environ['HELLO']


@unittest.skipUnless(os.environ['WITH_OFI'] == 'true', 'built without libfabric (Debian: libfabric-dev)')
class Libfabric(LaunchTest):
    def refused(self, pattern, **attributes):
        env = {'LCI_ATTR_' + name: value for name, value in attributes.items()}
        result = run(HELLO, LCI_ATTR_BACKEND='ofi', **env)
        self.assertNotEqual(result.returncode, 0)
        output = [line for line in result.stderr.splitlines() if re.search(pattern, line)]
        self.assertEqual(len(output), 1, result.stderr)
        return output[0]

    def test_a_job_over_libfabric_runs(self):
        result = lcirun('-n', 2, HELLO, LCI_ATTR_BACKEND='ofi')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(result.stdout.splitlines()), 2)

    def test_an_unknown_provider_is_refused(self):
        output = self.refused('ofi_provider_name = foo', OFI_PROVIDER_NAME='foo')
        self.assertIn('must be one of: ', output)
        self.assertIn('tcp;ofi_rxm on lo', output)

    def test_a_missing_network_device_is_refused(self):
        for provider in ('', 'tcp'):
            output = self.refused('device_name = eth77', DEVICE_NAME='eth77', OFI_PROVIDER_NAME=provider)
            self.assertIn(' on lo', output)

    def test_an_unknown_registration_mode_is_refused(self):
        self.refused('ofi_mr_mode = odd, but must be basic, local', OFI_MR_MODE='odd')

    def test_ranks_with_different_settings_are_errors(self):
        result = lcirun('-n', 2, 'sh', '-c',
                        f'test $PMI_RANK = 0 || export LCI_ATTR_OFI_PROVIDER_NAME=shm; exec {HELLO}',
                        LCI_ATTR_BACKEND='ofi', LCI_ATTR_OFI_PROVIDER_NAME='tcp')
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r'ofi: rank \d uses (shm|tcp;ofi_rxm), but rank \d (shm|tcp;ofi_rxm)')


if __name__ == '__main__':
    unittest.main()
