"""Misuse ends the program with a message and status 1, never by a signal, and never blocks."""

import os
import re
import signal
import subprocess
import unittest

MISUSE = os.environ["LCT_MISUSE"]
LCIRUN = os.environ["LCIRUN"]

# case of the program -> the function that the message names, and words of the message
FAULTS = {
    "queue null": ("LCT_queue_push", "NULL is not a queue"),
    "queue pop null": ("LCT_queue_pop", "NULL is not a queue"),
    "queue free null": ("LCT_queue_free", "NULL"),
    "queue push nothing": ("LCT_queue_push", "item is NULL"),
    "queue type": ("LCT_queue_alloc", "type = 12"),
    "queue type negative": ("LCT_queue_alloc", "type = -1"),
    "queue length": ("LCT_queue_alloc", "length = 0"),
    "queue length atomic": ("LCT_queue_alloc", "length = 0"),
    "queue full": ("LCT_queue_push", "full"),
    "queue is a barrier": ("LCT_queue_pop", "is not a queue"),
    "barrier threads": ("LCT_tbarrier_alloc", "nthreads = 0, but must be at least 1"),
    "barrier ticket": ("LCT_tbarrier_test", "ticket = 0"),
    "barrier ticket negative": ("LCT_tbarrier_wait", "ticket = -1"),
    "barrier null": ("LCT_tbarrier_arrive", "NULL is not a barrier"),
    "counter null": ("LCT_pcounter_add", "NULL is not a context"),
    "counter handle": ("LCT_pcounter_add", "idx 0"),
    "counter handle negative": ("LCT_pcounter_add", "idx -1"),
    "counter type": ("LCT_pcounter_register", "type = 4"),
    "counter name": ("LCT_pcounter_register", "name is NULL"),
    "counter types": ("LCT_pcounter_register", "registered with type 2"),
    "counter no timer": ("LCT_pcounter_start", "'n' is no timer"),
    "counter dump": ("LCT_pcounter_dump", "out is NULL"),
    "log levels": ("LCT_log_ctx_alloc", "count = 2"),
    "log is a queue": ("LCT_log_get_level", "is not a log"),
    "fina": ("LCT_fina", "more often"),
    "text null": ("LCT_str_replace_all", "from is NULL"),
    "search val": ("LCT_str_int_search", "val is NULL"),
    "search dict": ("LCT_str_int_search", "dict, which is NULL"),
    "parse delimiter": ("LCT_parse_arg", "delimiter is NULL"),
    "file room": ("LCT_read_file", "max = 0"),
    "pmi before": ("LCT_pmi_get_rank", "LCT_pmi_initialize first"),
    "pmi barrier before": ("LCT_pmi_barrier", "LCT_pmi_initialize first"),
    "pmi finalize before": ("LCT_pmi_finalize", "LCT_pmi_initialize first"),
    "pmi twice": ("LCT_pmi_publish", "key = 'key' has been published"),
    "pmi long key": ("LCT_pmi_publish", "key has 255 bytes or more"),
    "pmi long value": ("LCT_pmi_publish", "value has 255 bytes or more"),
    "pmi rank": ("LCT_pmi_getname", "rank = 1, but must be 0..0"),
    "pmi unpublished": ("LCT_pmi_getname", "can't get key = 'key' of rank 0"),
    "pmi no barrier": ("LCT_pmi_getname", "LCT_pmi_barrier"),
    "argument null": ("LCT_args_parser_add", "ptr is NULL"),
    "argument twice": ("LCT_args_parser_add", "--n has been added before"),
}
# case -> words; the message begins with the name of the program, as usual for a command line
OPTIONS = {
    "option unknown": "--m",
    "option no value": "--n",
    "option no number": "--n 3x: must be an integer",
    "option too large": "--n 3000000000: must be an integer",
    "option no key": "--which b: must be one of: a",
    "option flag value": "--flag",
}


def run(case, launcher=(), **variables):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("LCI_", "PMI_", "LCT_"))}
    return subprocess.run([*launcher, MISUSE, case], env={**env, **variables}, capture_output=True, text=True,
                          timeout=60)


class Misuse(unittest.TestCase):
    def test_each_misuse_is_named(self):
        for case, (function, words) in FAULTS.items():
            with self.subTest(case=case):
                done = run(case)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertRegex(done.stderr, rf"^lct: {function}: .*\n\Z")
                self.assertIn(words, done.stderr)

    def test_invalid_options_are_reported_and_end_the_program(self):
        for case, words in OPTIONS.items():
            with self.subTest(case=case):
                done = run(case)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertRegex(done.stderr, "^program: ")
                self.assertIn(words, done.stderr)

    def test_help_shows_the_options(self):
        done = run("option help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, "program\n  --n N (default: 0)\n  --which a (default: 0)\n"
                                      "  --flag (default: 0)\n")

    def test_options_are_printed_as_numbers_or_names(self):
        self.assertEqual(run("print").stdout, "--n 0 --which 1\n--n 0\n--which a\n")

    def test_a_false_assertion_aborts_and_prints_its_expression(self):
        done = run("assert")
        self.assertEqual(done.returncode, -signal.SIGABRT)
        self.assertRegex(done.stderr, r":assert::misuse\.cpp:.*:\d+: 'number == 1' is false: number is 0\n")
        done = run("assert in a file")  # at any log level; buffered output is written before the abort
        self.assertEqual(done.returncode, -signal.SIGABRT)
        self.assertIn("'number == 1' is false: number is 0\n", done.stdout)

    def test_an_incomplete_environment_is_reported(self):
        done = run("pmi environment", LCI_ATTR_BOOTSTRAP="nonsense")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "^lct: LCT_pmi_initialize: LCI_ATTR_BOOTSTRAP=nonsense .*\n\\Z")

    def test_misuse_by_one_rank_ends_the_job(self):
        done = run("pmi unpublished", launcher=(LCIRUN, "-n", "3"))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("lct: LCT_pmi_getname: can't get key = 'key' of rank 0", done.stderr)

    def test_a_push_that_waits_long_prints_a_warning(self):
        process = subprocess.Popen([MISUSE, "long wait"], stderr=subprocess.PIPE, text=True)
        try:
            self.assertRegex(process.stderr.readline(), "LCT_queue_push has waited for 10 s: the queue is full")
        finally:
            process.kill()
            process.communicate()

    def test_all_cases_are_tested(self):
        listed = subprocess.run([MISUSE], capture_output=True, text=True, timeout=60).stdout.split("\n")
        tested = {*FAULTS, *OPTIONS, "option help", "print", "assert", "assert in a file",
                  "pmi environment", "long wait"}
        self.assertEqual(set(filter(None, listed)), tested)


if __name__ == "__main__":
    unittest.main()
