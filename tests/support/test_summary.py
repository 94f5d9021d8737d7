"""Tests of summary.py with programs that succeed, fail, crash and hang: every case that ran counts."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = os.environ["ENDING_BADLY"]


def entry(name, done, result):
    """A line of Meson's log."""
    return {"name": f"lci:some / {name}", "result": result, "duration": 1.0,
            "returncode": done.returncode, "stdout": done.stdout, "stderr": done.stderr}


def ending(how):
    done = subprocess.run([PROGRAM], env={**os.environ, "ENDING": how}, text=True,
                          capture_output=True, timeout=120, check=False)
    return entry("program", done, "OK" if done.returncode == 0 else "FAIL")


def summarised(*entries):
    """Exit status, and the lines of the summary."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log.json"
        log.write_text("".join(json.dumps(e) + "\n" for e in entries))
        done = subprocess.run([sys.executable, str(HERE / "summary.py"), str(log)], text=True,
                              capture_output=True, timeout=60, check=False)
    return done.returncode, done.stdout.splitlines()


class Summary(unittest.TestCase):
    def check(self, entries, last, *failures):
        code, lines = summarised(*entries)
        self.assertEqual(lines[-1], last)
        self.assertEqual(code, 1 if failures else 0)
        named = [line for line in lines if line.startswith("  FAILED: ")]
        self.assertEqual(len(named), len(failures), named)
        for line, words in zip(named, failures):
            for word in words:
                self.assertIn(word, line)
        return lines

    def test_counts_of_a_program_that_passes(self):
        lines = self.check([ending("well")], "3 passed, 0 failed, 1 skipped")
        self.assertIn("  skipped: second: nothing to see", lines)

    def test_a_failed_case_is_named(self):
        self.check([ending("otherwise")], "2 passed, 1 failed, 1 skipped",
                   ["some/program: the end"])

    def test_a_program_that_ends_by_a_signal_has_failed(self):
        # Catch2 handles the first signal and names the case; the second can't be handled.
        self.check([ending("segmentation fault")], "2 passed, 1 failed, 1 skipped",
                   ["some/program: the end"], ["some/program", "SIGSEGV"])
        self.check([ending("kill")], "2 passed, 1 failed, 1 skipped", ["some/program", "SIGKILL"])

    def test_an_exit_during_the_cases_is_a_failure(self):
        self.check([ending("exit")], "2 passed, 1 failed, 1 skipped",
                   ["some/program", "exit status 3"])

    def test_a_case_that_hangs_is_named(self):
        self.check([ending("hang")], "2 passed, 1 failed, 1 skipped",
                   ["some/program", "SIGABRT", "HUNG", "'the end'"])

    def test_a_signal_that_a_launcher_reports_is_a_failure(self):
        e = ending("kill")
        e["returncode"] = 128 + 11
        self.check([e], "2 passed, 1 failed, 1 skipped", ["some/program", "SIGSEGV"])

    def test_a_sanitizer_that_reports_at_the_end_is_a_failure(self):
        e = ending("well")
        e.update(result="FAIL", returncode=66, stderr="SUMMARY: ThreadSanitizer: data race x.cpp:1")
        self.check([e], "3 passed, 1 failed, 1 skipped",
                   ["some/program", "66", "ThreadSanitizer: data race x.cpp:1"])

    def test_a_timeout_of_python_tests_is_a_failure(self):
        script = ("import os, unittest\n"
                  "class A(unittest.TestCase):\n"
                  "  def test_1(self): pass\n"
                  "  def test_2(self): os._exit(9)\n"
                  "unittest.main(verbosity=2)\n")
        done = subprocess.run([sys.executable, "-c", script], text=True, capture_output=True,
                              timeout=60, check=False)
        self.check([entry("script", done, "TIMEOUT")], "1 passed, 1 failed, 0 skipped",
                   ["some/script", "timed out"])

    def test_failures_of_python_tests_are_named(self):
        script = ("import unittest\n"
                  "class A(unittest.TestCase):\n"
                  "  def test_1(self): pass\n"
                  "  def test_2(self): self.fail()\n"
                  "  def test_3(self): self.skipTest('no need')\n"
                  "unittest.main(verbosity=2)\n")
        done = subprocess.run([sys.executable, "-c", script], text=True, capture_output=True,
                              timeout=60, check=False)
        lines = self.check([entry("script", done, "FAIL")], "1 passed, 1 failed, 1 skipped",
                           ["some/script", "FAIL: test_2"])
        self.assertIn("    | AssertionError: None", lines)

    def test_the_last_lines_of_a_program_that_failed_no_check_are_shown(self):
        e = ending("exit")
        e["stderr"] += "\n".join(f"line {i}" for i in range(100))
        lines = self.check([e], "2 passed, 1 failed, 1 skipped", ["some/program", "exit status 3"])
        self.assertEqual(lines[-2], "    | line 99")
        self.assertNotIn("    | line 60", lines)

    def test_the_failed_check_is_shown_despite_much_output_after_it(self):
        e = ending("otherwise")
        e["stderr"] += "\n".join(f"line {i}" for i in range(100))
        lines = self.check([e], "2 passed, 1 failed, 1 skipped", ["some/program: the end"])
        self.assertTrue([line for line in lines if line.endswith(": FAILED:")], lines)
        self.assertIn("    | line 10", lines)
        self.assertLess(len(lines), 40)

    def test_a_reason_is_printed_once(self):
        lines = self.check([ending("well"), ending("well")], "6 passed, 0 failed, 2 skipped")
        self.assertEqual([line for line in lines if "skipped: " in line],
                         ["  skipped: second: nothing to see (2 times)"])

    def test_repeated_jobs_are_reported(self):
        done = subprocess.CompletedProcess([], 0, "", "test_1 ... \nREPEATED: test_1: no luck\n"
                                           "| PASSED a\n| FAILED b\nok\n\nRan 1 test in 1.0s\n\nOK\n")
        lines = self.check([entry("python", done, "OK")], "1 passed, 0 failed, 0 skipped")
        self.assertIn("  repeated: test_1: no luck", lines)

    def test_counts_of_several_programs_are_added(self):
        self.check([ending("well"), ending("exit"), ending("well")],
                   "8 passed, 1 failed, 3 skipped", ["exit status 3"])

    def test_nothing_run_is_a_failure(self):
        code, lines = summarised()
        self.assertEqual((code, lines[-1]), (1, "0 passed, 1 failed, 0 skipped"))


if __name__ == "__main__":
    unittest.main()
