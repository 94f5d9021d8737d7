"""A rank without memory in ARMCI_Init: ARMCI starts all the same, or the job ends with a text. No rank waits for it."""

import concurrent.futures
import os
import subprocess
import unittest

PROGRAM, LCIRUN = os.environ["ARMCI_NO_MEMORY_AT_START"], os.environ["LCIRUN"]
FOR_EVER = 1 << 40


class Start(unittest.TestCase):
    def start(self, good, bad, n=2):
        return subprocess.run([LCIRUN, "-n", str(n), PROGRAM, str(good), str(bad)], capture_output=True, text=True,
                              timeout=90,
                              env={**os.environ, "LCI_ATTR_RANKS_PER_HOST": "1", "LCI_ATTR_BACKEND": "tcp"})

    def sweep(self, bad, n=2):
        """Fails the first allocations after some, until no allocation is left to fail."""
        good = 0
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            while True:
                some = [good + i * (1 + good // 8) for i in range(8)]
                good = some[-1] + 1
                runs = [(g, pool.submit(self.start, g, bad, n)) for g in some]
                for g, run in runs:
                    with self.subTest(good=g, bad=bad):
                        done = run.result()
                        if done.returncode == 0:
                            self.assertIn("started", done.stdout)
                            if "no allocation failed" in done.stdout:
                                return
                            continue
                        self.assertRegex(done.stderr, "armci: (ARMCI_Init|a message): ")
                        # Rank 1 may get a code because rank 0 has ended.
                        self.assertIn(done.returncode, (1, 6) if n > 1 else (3,), done.stderr)
                        self.assertEqual("0: ARMCI_Init: -6" in done.stdout, n == 1, done.stdout)
                self.assertLess(good, 100000)

    def test_one_allocation_fails(self):
        self.sweep(1)

    def test_all_allocations_fail_from_one_on(self):
        self.sweep(FOR_EVER)

    def test_a_process_alone_gets_a_code(self):
        self.sweep(1, n=1)


if __name__ == "__main__":
    unittest.main()
