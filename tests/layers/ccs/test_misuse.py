"""Misuse returns CCS_FAILURE with a text that names the function, or ends the job if no return code can report it."""

import os
import subprocess
import unittest

MISUSE = os.environ["CCS_MISUSE"]

# case -> words of the line on standard error, after "ccs: ". The call returns CCS_FAILURE.
REFUSED = {
    "context": "CCS_amrequest: context = 7, but CCS_new_context() has made 1",
    "node": "CCS_amrequest: node = 1, but nodes are numbered from 0 to 0",
    "handler id": "CCS_register_handler: handler_id = 256, but must be less than 256",
    "handler context": "CCS_register_handler: context = 9",
    "handler null": "CCS_register_handler: handler_ptr is NULL",
    "arguments of a handler": "CCS_register_handler: num_args = -2, but must be 0..16, or -1",
    "too many arguments": "CCS_amrequest: num_args = 17, but a message has at most 16",
    "null buffer": "CCS_amrequest: buf is NULL",
    "too long": "CCS_amrequest: 16385 bytes of data, but a message has at most 16384",
    "sender outside": "CCS_sender_rank: the token is not that of the handler",
    "reply outside": "CCS_amreply: the token is not that of the handler",
    "sizes differ": "CCS_put: the source has 8 bytes and the destination 4",
    "deregister unregistered": "CCS_deregister_mem: ",
    "atomic result": "CCS_atomic: var = NULL, ",
    "null indexed": "CCS_put_indexed: remote_ptr = NULL, ",
    "null memory": "CCS_register_mem: addr = NULL, ",
    "unlock free": "CCS_unlock: this thread does not hold the lock",
    "end no section": "CCS_nointerrupt_end: this thread is in no such section",
    "numbers of a reduction": "CCS_allreduce: count = 2305843009213693951 numbers of 8 bytes, which no memory can hold",
    "numbers of a reduction to one": "CCS_reduce: count = 18446744073709551615 numbers of 16 bytes, which no memory ",
    "root": "CCS_bcast: root = 1, but nodes are numbered from 0 to 0",
    "root of a reduction": "CCS_reduce: root = 2, but nodes are numbered from 0 to 0",
    "combine": "CCS_allreduce: op = 6 is not defined for type = 5",
    "strided levels": "CCS_datadesc_create_strided: levels = -1, ",
    "strided counts": "CCS_datadesc_create_strided: counts is NULL, but must be an array of levels + 1 = 2",
    "strided strides": "CCS_datadesc_create_strided: strides_bytes is NULL, but must be an array of levels = 1",
    "list length": "CCS_datadesc_create_iov: n = -1, ",
    "pack room": "CCS_pack: ",
    "pack from null": "CCS_pack: src is NULL, but the data of desc begins 0 bytes after it: give an address",
    "unpack to null": "CCS_unpack: dest is NULL, ",
    "pack of a freed description": "CCS_pack: desc = 0x",
    "broadcast null": "CCS_bcast: buf is NULL, ",
    "message of null": "CCS_amrequest: buf is NULL, ",
    "put from null": "CCS_put: src_buf is NULL, ",
    "get to null": "CCS_get: dest_buf is NULL, ",
    "free symmetric": "CCS_free_symmetric: 0x",
    "free symmetric null": "CCS_free_symmetric: NULL is not from",
}
# The same, where the job ends.
ENDS = {
    "put unregistered": "CCS_put: address 0x",
    "no handler": "handler 77 of context 0 is not registered here for a message that node 0 has sent",
    "argument count": "handler 0 of context 0 has 0 arguments, but node 0 has sent it 1",
    "handler keeps a lock": "handler 0 of context 0 has returned with a lock held",
    "handler throws": "handler 0 of context 0 has thrown an exception, which no caller can catch: too hot",
    "handler of large messages throws": "handler 5 of context 0 has thrown an exception, which no caller can catch: too",
    "callback throws": "a callback: it has thrown an exception, which no caller can catch: it is not",
    "callback stays in a section": "it has returned with a lock held or in a no-interrupt section",
    "lock twice": "CCS_lock: this thread holds the lock",
    "poll with a lock": "CCS_poll: called with a lock held",
    "fence with a lock": "CCS_allfence: called with a lock held",
    "barrier in a section": "CCS_barrier: called in a no-interrupt section",
    "barrier in a handler": "CCS_barrier: called in a handler or callback",
    "fence in a handler": "CCS_fence: called in a handler or callback",
    "all-fence in a handler": "CCS_allfence: called in a handler or callback",
    "finalize in a handler": "CCS_finalize: called in a handler or callback",
    "broadcast in a handler": "CCS_bcast: called in a handler or callback",
    "reduction to one in a handler": "CCS_reduce: called in a handler or callback",
    "reduction in a handler": "CCS_allreduce: called in a handler or callback",
    "symmetric memory in a handler": "CCS_malloc_symmetric: called in a handler or callback",
    "symmetric memory in a callback": "CCS_malloc_symmetric: called in a handler or callback",
    "end of symmetric memory in a handler": "CCS_free_symmetric: called in a handler or callback",
    "reduction with a lock": "CCS_allreduce: called with a lock held",
}


def run(case, **env):
    return subprocess.run([MISUSE, case], capture_output=True, text=True, timeout=60, env={**os.environ, **env})


class Misuse(unittest.TestCase):
    def test_calls_are_refused_with_a_text(self):
        for case, words in REFUSED.items():
            with self.subTest(case=case):
                r = run(case)
                self.assertEqual((r.returncode, r.stdout), (0, "refused\n"), r.stderr)
                lines = [line for line in r.stderr.splitlines() if line.startswith("ccs: ")]
                self.assertEqual(len(lines), 1, r.stderr)
                self.assertIn(words, lines[0])

    def test_calls_that_would_wait_for_themselves_and_errors_without_a_caller_end_the_job(self):
        for case, words in ENDS.items():
            with self.subTest(case=case):
                r = run(case)
                self.assertNotIn(r.returncode, (0, 5), r.stderr)
                self.assertIn(words, r.stderr)

    def test_calls_before_the_beginning_are_refused(self):
        r = run("before")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("ccs: CCS_barrier: CCS is not initialized", r.stderr)

    def test_the_end_names_a_handler_that_keeps_it_waiting(self):
        r = run("a message that is delayed for long")
        self.assertEqual((r.returncode, r.stdout), (0, ""), r.stderr)
        self.assertEqual(r.stderr.count("ccs: "), 1, r.stderr)
        self.assertIn("ccs: CCS_finalize: still waits: handler 5 of context 0 answers CCS_AGAIN to a message of 24 bytes "
                      "from node 0", r.stderr)

    def test_a_handler_that_the_end_runs_can_not_begin_again(self):
        r = run("begin in a handler while the end waits")
        self.assertEqual((r.returncode, r.stdout), (0, "refused\n"), r.stderr)
        self.assertIn("ccs: CCS_init: called in a handler or callback", r.stderr)

    def test_of_several_threads_that_end_it_one_does(self):
        r = run("one end too many")
        self.assertEqual((r.returncode, r.stdout), (0, "3 ends refused\n"), r.stderr)
        self.assertEqual(r.stderr.count("ccs: CCS_finalize: CCS is not initialized"), 3, r.stderr)

    def test_it_starts_where_the_user_has_chosen_small_lanes_of_shared_memory(self):
        for size in ("65536", "64k"):
            with self.subTest(size=size):
                r = run("the largest message", LCI_ATTR_SHM_LANE_DATA_SIZE=size)
                self.assertEqual((r.returncode, r.stdout, r.stderr), (0, "", ""))

    def test_a_threshold_that_is_no_number_is_named(self):
        r = run("environment", CCS_REG_CACHE_BYTES="4k")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("CCS_REG_CACHE_BYTES=4k is no number of bytes", r.stderr)


if __name__ == "__main__":
    unittest.main()
