"""If a process dies, no other process waits for ever: operations with it are errors, and others get its locks."""

import concurrent.futures
import os
import subprocess
import time
import unittest

MISUSE, LCIRUN = os.environ["ARMCI_MISUSE"], os.environ["LCIRUN"]
LONG = os.environ.get("LCI_TESTS_LONG", "0") != "0"
COLLECTIVE = ["malloc", "free", "destroy mutexes", "barrier!", "receive from any!", "broadcast!", "sum!", "malloc group",
              "free group", "destroy mutexes of a group!", "create group!", "split", "group barrier!", "group sum!",
              "group broadcast!", "large sum!", "reduce!", "select!", "exchange addresses!"]
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

    def dies_in(self, operation, environment, n):
        """All other processes take part if there are several."""
        how = [operation] if n == 2 else [operation, "all"]
        return subprocess.run([LCIRUN, "-n", str(n), MISUSE, "dies in", *how], capture_output=True, text=True,
                              timeout=60, env={**os.environ, **environment})

    def ends(self, operations, environment, n=2):
        """Some at a time: each takes some seconds in which it does little."""
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            runs = {o: pool.submit(self.dies_in, o, environment, n) for o in operations}
        for operation, run in runs.items():
            with self.subTest(operation=operation, environment=environment, n=n):
                done = run.result()
                self.assertRegex(done.stderr, r"armci: \w+: (process \d has|a process that had to answer has|all other "
                                              "processes have) failed")
                if operation.endswith("!"):
                    self.assertNotEqual(done.returncode, 0)
                    self.assertEqual(done.stdout, "")
                else:
                    self.assertEqual(done.stdout, f"{operation}: -7 soon\n" * (n - 1), done.stderr)

    def operations(self):
        listed = subprocess.run([MISUSE], capture_output=True, text=True, check=True).stdout.splitlines()
        found = [line.removeprefix("dead in ") for line in listed if line.startswith("dead in ")]
        self.assertGreater(len(found), 35)
        return found

    def test_each_operation_that_waits_for_another_host_ends_with_it(self):
        self.ends(self.operations(), FAR)

    def test_operations_that_wait_for_a_process_of_the_host_end_with_it(self):
        """Others don't wait for it."""
        self.ends([o for o in self.operations() if o in COLLECTIVE or o in ("receive!", "notify wait!")], {})

    def test_collective_operations_of_several_processes_end_with_one_of_them(self):
        """Also for a process that waits for another one only, which has returned an error and lives on."""
        operations = ["malloc", "free", "sum!", "create group!"]
        if LONG:
            operations = [o for o in COLLECTIVE if o != "receive from any!"]  # others may send something
        for environment in ({}, FAR):
            self.ends(operations, environment, 4)

    def test_an_allocation_that_fails_at_one_process_is_an_error_at_all_and_loses_nothing(self):
        for environment in ({}, FAR):
            with self.subTest(environment=environment):
                done = self.run_case("dead allocations", 3, {"LCI_ATTR_SHARED_HEAP_SIZE": str(64 << 20), **environment})
                self.assertEqual(done.stdout, "20 failures, then 0\n" * 3, done.stderr)

    def test_a_barrier_ends_the_job(self):
        for environment in ({}, FAR):
            with self.subTest(environment=environment):
                done = self.run_case("dead barrier", 2, environment)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("armci: armci_msg_barrier: process 1 has failed", done.stderr)
                self.assertLess(self.seconds, 10)

    def test_a_mutex_of_a_dead_holder_is_passed_on(self):
        cases = [("dead holder", 2, {}), ("dead owner's holder", 3, FAR), ("dead holder", 3, TWO)]
        if LONG:
            cases += [("dead holder", 2, FAR), ("dead owner's holder", 3, {}), ("dead owner's holder", 3, TWO)]
        for case, n, environment in cases:
            with self.subTest(case=case, n=n, environment=environment):
                done = self.run_case(case, n, environment)
                self.assertIn("lock: 0", done.stdout, done.stderr)
                self.assertLess(self.seconds, 20)

    def test_an_accumulate_of_a_process_that_is_killed_blocks_no_other_process(self):
        done = subprocess.run([LCIRUN, "-n", "2", "/bin/sh", "-c", '"$0" "$1"; exit 0', MISUSE, "dead adder"],
                              capture_output=True, text=True, timeout=60)
        self.assertIn("accumulate: 0", done.stdout, done.stderr)


if __name__ == "__main__":
    unittest.main()
