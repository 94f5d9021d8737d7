"""Operations between processes that can't see each other, as on different hosts: the network moves all bytes, also
those of large gets. Each process has process and mount namespaces of its own."""

import os
import shutil
import subprocess
import unittest

FUNCTIONS, FUZZ, LCIRUN = (os.environ[name] for name in ("ARMCI_FUNCTIONS", "ARMCI_FUZZ", "LCIRUN"))
WITH_OFI = os.environ["WITH_OFI"] == "true"
LONG = os.environ.get("LCI_TESTS_LONG", "0") != "0"
OPERATIONS = 100000 if LONG else 2500
APART = ["unshare", "--pid", "--fork", "--mount-proc"]


def missing():
    if shutil.which("unshare") is None:
        return "no unshare (Debian: util-linux)"
    tried = subprocess.run([*APART, "true"], capture_output=True, text=True)
    return "" if tried.returncode == 0 else "no namespaces: " + tried.stderr.strip()


WHY_NOT = missing()


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Apart(unittest.TestCase):
    def fuzz(self, n, seed, **environment):
        done = subprocess.run([LCIRUN, "-n", str(n), *APART, FUZZ, str(OPERATIONS), str(seed)], capture_output=True,
                              text=True, timeout=1500 if LONG else 200, env={**os.environ, **environment})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count(f"{OPERATIONS} operations, seed {seed}\n"), n)

    def test_functions(self):
        done = subprocess.run([LCIRUN, "-n", "2", *APART, FUNCTIONS], capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue(done.stdout.endswith("codes\n"), done.stdout)

    def test_over_tcp(self):
        self.fuzz(2, 11, LCI_ATTR_BACKEND="tcp")

    def test_over_tcp_with_a_thread_that_applies(self):
        self.fuzz(3, 12, LCI_ATTR_BACKEND="tcp", ARMCI_APPLIER="1")

    def test_over_libfabric(self):
        if not WITH_OFI:
            self.skipTest("the backend ofi is not part of this build")
        self.fuzz(2, 13, LCI_ATTR_BACKEND="ofi", LCI_ATTR_OFI_PROVIDER_NAME="tcp", ARMCI_APPLIER="1")


if __name__ == "__main__":
    unittest.main()
