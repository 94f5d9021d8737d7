"""A rank without memory in the function that starts a library: it starts all the same, or the job ends with a text. No
rank waits for it. Test modules of a library derive classes from Start."""

import concurrent.futures
import os
import subprocess

PROGRAM, LCIRUN = os.environ["NO_MEMORY_AT_START"], os.environ["LCIRUN"]
FOR_EVER = 1 << 40


class Start:
    function = None   # which starts the library
    code = None       # what it returns to a process that is alone and has no memory
    message = None    # a pattern of the text with which the job ends
    statuses = None   # possible exit statuses of the job

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
                        if n > 1:
                            self.assertRegex(done.stderr, self.message)
                        # Rank 1 may get a code because rank 0 has ended.
                        self.assertIn(done.returncode, self.statuses if n > 1 else (3,), done.stderr)
                        self.assertEqual(f"0: {self.function}: {self.code}" in done.stdout, n == 1, done.stdout)
                self.assertLess(good, 100000)

    def test_one_allocation_fails(self):
        self.sweep(1)

    def test_all_allocations_fail_from_one_on(self):
        self.sweep(FOR_EVER)

    def test_a_process_alone_gets_a_code(self):
        self.sweep(1, n=1)
