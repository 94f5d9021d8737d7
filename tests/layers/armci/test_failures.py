"""A process that dies makes nobody wait for ever: who waits for it gets an error; a lock that it held is passed on."""

import os
import subprocess
import time
import unittest

MISUSE, LCIRUN = os.environ["ARMCI_MISUSE"], os.environ["LCIRUN"]
FAR, TWO = {"LCI_ATTR_RANKS_PER_HOST": "1"}, {"LCI_ATTR_RANKS_PER_HOST": "2"}


class Failures(unittest.TestCase):
    def run_case(self, case, n, environment=None):
        begin = time.monotonic()
        done = subprocess.run([LCIRUN, "-n", str(n), MISUSE, case], capture_output=True, text=True, timeout=60,
                              env={**os.environ, **(environment or {})})
        self.seconds = time.monotonic() - begin
        return done

    def test_operations_on_another_host_end_with_a_code(self):
        for case, words in (("dead get", "get: -7"), ("dead fence", "fence: -7")):
            with self.subTest(case=case):
                done = self.run_case(case, 2, FAR)
                self.assertIn(words, done.stdout, done.stderr)
                self.assertIn("process 1 has failed", done.stderr)
                self.assertLess(self.seconds, 10)

    def test_a_barrier_ends_the_job(self):
        for environment in ({}, FAR):
            with self.subTest(environment=environment):
                done = self.run_case("dead barrier", 2, environment)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("armci: armci_msg_barrier: process 1 has failed", done.stderr)
                self.assertLess(self.seconds, 10)

    def test_a_mutex_of_a_dead_holder_is_passed_on(self):
        cases = [("dead holder", 2, {}), ("dead owner's holder", 3, FAR), ("dead holder", 3, TWO)]
        if os.environ.get("LCI_TESTS_LONG", "0") != "0":
            cases += [("dead holder", 2, FAR), ("dead owner's holder", 3, {}), ("dead owner's holder", 3, TWO)]
        for case, n, environment in cases:
            with self.subTest(case=case, n=n, environment=environment):
                done = self.run_case(case, n, environment)
                self.assertIn("lock: 0", done.stdout, done.stderr)
                self.assertLess(self.seconds, 20)

    def test_an_accumulate_of_a_process_that_is_killed_blocks_nobody(self):
        done = subprocess.run([LCIRUN, "-n", "2", "/bin/sh", "-c", '"$0" "$1"; exit 0', MISUSE, "dead adder"],
                              capture_output=True, text=True, timeout=60)
        self.assertIn("accumulate: 0", done.stdout, done.stderr)


if __name__ == "__main__":
    unittest.main()
