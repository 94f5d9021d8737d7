"""Invalid calls return LCI_ERR_FATAL with one line of text, never by a signal, and never block."""

import os
import subprocess
import unittest

MISUSE = os.environ["V1_MISUSE"]

# case -> function that is named, and words of its message. The first table holds without the checking mode, too.
ALWAYS = {
    "before": ("LCI_barrier", "call LCI_initialize() first"),
    "tag": ("LCI_puts", "LCI_MAX_TAG = 65535"),
    "tag of a receive": ("LCI_recvs", "70000"),
    "rank": ("LCI_sends", "rank"),
    "rank negative": ("LCI_recvs", "rank"),
    "medium size": ("LCI_sendm", "LCI_MEDIUM_SIZE = 12252"),
    "endpoint of the library": ("LCI_endpoint_free", "LCI_UR_ENDPOINT"),
    "endpoints": ("LCI_endpoint_init", "endpoints"),
    "device of the library": ("LCI_device_free", "LCI_UR_DEVICE"),
    "comp freed": ("LCI_recvs", "freed"),
    "comp invented": ("LCI_recvs", "none at all"),
    "comp null where allocated": ("LCI_recvl", "completion is NULL"),
    "comp null for a short": ("LCI_recvs", "completion is NULL"),
    "queue is a sync": ("LCI_queue_pop", "is a synchronizer, but must be a queue"),
    "sync is a queue": ("LCI_sync_test", "is a queue, but must be a synchronizer"),
    "sync freed": ("LCI_sync_test", "freed"),
    "queue freed": ("LCI_queue_len", "freed"),
    "threshold": ("LCI_sync_create", "threshold = 0"),
    "handler null": ("LCI_handler_create", "handler is NULL"),
    "plist null": ("LCI_plist_set_default_comp", "plist is NULL"),
    "segment all is remote": ("LCI_putl", "LCI_SEGMENT_ALL"),
    "remote range": ("LCI_putl", "8 bytes at address"),
    "segment text": ("LCI_segment_deserialize", "nonsense"),
    "iovec count": ("LCI_sendv", "iovec.count = 509"),
    "piggy-back": ("LCI_sendv", "LCI_get_iovec_piggy_back_size"),
    "completion unknown": ("LCI_progress", "remote_completion = 4000"),
    "completion freed": ("LCI_progress", "freed"),
    "completion impossible": ("LCI_puts", "remote_completion = 1099511627776"),
    "completion none": ("LCI_puts", "LCI_NO_COMP_REMOTE"),
    "long to unknown": ("LCI_progress", "remote_completion = 4000"),
    "queue of the library": ("LCI_queue_free", "LCI_UR_CQ"),
    "iovec to be allocated for nobody": ("LCI_recvv", "completion is NULL"),
    "root": ("LCIX_bcastm", "root = 1, but must be a rank, 0 to 0"),
    "op null": ("LCIX_allreducem", "op is NULL"),
    "collective null": ("LCIX_bcastm", "collective is NULL"),
    "awaited results null": ("LCI_queue_wait_multiple", "requests is NULL"),
    "no result of a queue": ("LCI_queue_create", "the result's address is NULL"),
    "no result of a synchronizer": ("LCI_sync_create", "the result's address is NULL"),
    "no result of a handler": ("LCI_handler_create", "the result's address is NULL"),
    "no result of a registration": ("LCI_memory_register", "the result's address is NULL"),
    "no result of a long buffer": ("LCI_lbuffer_alloc", "the result's address is NULL"),
    "no result of a device": ("LCI_device_init", "device is NULL"),
    "no result of an endpoint": ("LCI_endpoint_init", "ep_ptr is NULL"),
    "no result of a length": ("LCI_queue_len", "len is NULL"),
    "no awaited result": ("LCI_queue_wait", "request is NULL"),
    "no device of a registration": ("LCI_memory_register", "device is NULL"),
    "no device of a long buffer": ("LCI_lbuffer_alloc", "device is NULL"),
    "no device of an endpoint": ("LCI_endpoint_init", "device is NULL"),
    "no endpoint of a list": ("LCI_plist_get", "ep is NULL"),
}
CHECKED = {
    "rank": ("LCI_sends", "rank = 1, but must be 0 to 0"),
    "rank negative": ("LCI_recvs", "rank = -1"),
    "endpoint null": ("LCI_puts", "ep is NULL"),
    "endpoint freed": ("LCI_puts", "that was freed"),
    "device null": ("LCI_mbuffer_alloc", "device is NULL"),
    "buffer null": ("LCI_sendm", "buffer.address is NULL"),
    "result null": ("LCI_queue_pop", "request is NULL"),
    "results null": ("LCI_queue_pop_multiple", "requests is NULL"),
    "remote null": ("LCI_putm", "remote.address is NULL"),
    "plist freed": ("LCI_plist_set_match_type", "that was freed"),
    "packet freed twice": ("LCI_mbuffer_free", "a packet that is free"),
    "packet freed and sent": ("LCI_sendmn", "a packet that is free"),
    "kind of default": ("LCI_endpoint_init", "LCI_plist_set_comp_type"),
    "packet invented and freed": ("LCI_mbuffer_free", "is not a medium buffer of the library"),
    "packet invented and sent": ("LCI_sendmn", "is not a medium buffer of the library"),
    "packet invented and put": ("LCI_putmna", "is not a medium buffer of the library"),
    "packet invented and put to an address": ("LCI_putmn", "is not a medium buffer of the library"),
    "long buffer invented": ("LCI_lbuffer_free", "is not a long buffer of the library"),
    "long buffer freed twice": ("LCI_lbuffer_free", "that was freed"),
    "sync freed, receive of a short": ("LCI_progress", "with rank 0 and tag 0 is complete, but its completion object"),
    "queue freed, receive of a short": ("LCI_progress", "was freed"),
    "sync freed, receive of a medium": ("LCI_progress", "was freed"),
    "queue freed, receive into a packet": ("LCI_progress", "was freed"),
    "sync freed, receive of a long": ("LCI_progress", "was freed"),
    "queue freed, receive of an iovec": ("LCI_progress", "was freed"),
    "default freed": ("LCI_progress", "was freed"),
    "default invented": ("LCI_plist_set_default_comp", "none at all"),
    "endpoint freed, receive of a short": ("LCI_endpoint_free", "has 1 receives"),
    "endpoint freed, receive of a medium": ("LCI_endpoint_free", "has 1 receives"),
    "endpoint freed, receive of a long": ("LCI_endpoint_free", "has 1 receives"),
    "endpoint freed, receive of an iovec": ("LCI_endpoint_free", "has 1 receives"),
    "device freed, receive of a short": ("LCI_device_free", "of the device has 1 receives"),
    "iovec count of a receive": ("LCI_recvv", "iovec.count = -1"),
    "collective invented": ("LCIX_coll_progress", "is not a collective operation"),
    "segment not of buffer": ("LCI_sendl", "not all in its segment"),
    "segment of other device": ("LCI_sendl", "another device"),
    "segment freed": ("LCI_memory_deregister", "that was freed"),
    "handler calls": ("LCI_progress", "inside a handler"),
    "two threads": ("LCI_progress", "two threads"),
}


def run(case, **variables):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("LCI_", "PMI_"))}
    env["ASAN_OPTIONS"] = "detect_leaks=0"  # a call that is refused ends the program
    return subprocess.run([MISUSE, case], env={**env, **variables}, capture_output=True, text=True, timeout=60)


class Misuse(unittest.TestCase):
    def is_refused(self, case, function, words, **variables):
        with self.subTest(case=case, **variables):
            done = run(case, **variables)
            self.assertEqual((done.returncode, done.stdout), (0, "2\n"), done.stderr)
            lines = [line for line in done.stderr.splitlines() if line.startswith("lci: ")]
            self.assertTrue(lines, done.stderr)
            self.assertTrue(lines[0].startswith(f"lci: {function}: "), lines[0])
            self.assertIn(words, lines[0])

    def test_misuse_that_is_refused_always(self):
        for case, (function, words) in ALWAYS.items():
            self.is_refused(case, function, words)

    def test_misuse_that_the_checking_mode_refuses(self):
        for case, (function, words) in {**ALWAYS, **CHECKED}.items():
            self.is_refused(case, function, words, LCI_V1_CHECK="1")

    def test_a_receive_after_the_end_is_refused(self):
        self.is_refused("after the end", "LCI_recvs", "call LCI_initialize() first")

    def test_a_truncated_message_is_no_success(self):
        self.assertEqual(run("truncated").stdout, "2\n")

    def test_an_invalid_setting_is_refused(self):
        for name, value in (("LCI_PACKET_SIZE", "12"), ("LCI_SERVER_NUM_PKTS", "many"), ("LCI_V1_CHECK", "2")):
            with self.subTest(name=name):
                done = run("tag", **{name: value})
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn(f"lci: LCI_initialize: {name}={value} in the environment", done.stderr)

    def test_settings_are_taken(self):
        done = run("medium size", LCI_PACKET_SIZE="8228", LCI_SERVER_NUM_PKTS="100")
        self.assertIn("LCI_MEDIUM_SIZE = 8192", done.stderr)


if __name__ == "__main__":
    unittest.main()
