"""Misuse ends the program with a line of text that names function, argument, value and limit; never by a signal."""

import os
import subprocess
import unittest

MISUSE = os.environ["ARMCI_MISUSE"]

# case -> function that is named, and words of its message
FAULTS = {
    "no init barrier": ("ARMCI_Barrier", "call ARMCI_Init first"),
    "no init group": ("ARMCI_Group_get_world", "call ARMCI_Init first"),
    "type": ("ARMCI_Acc", "datatype = 9, but must be one of ARMCI_ACC_INT"),
    "type negative": ("ARMCI_AccS", "datatype = -1, but must be one of ARMCI_ACC_INT"),
    "op": ("ARMCI_Rmw", "op = 12, but must be ARMCI_FETCH_AND_ADD"),
    "mutex none": ("ARMCI_Lock", "call ARMCI_Create_mutexes first"),
    "mutex number": ("ARMCI_Lock", "mutex = 2, but process 0 has created 2"),
    "mutex proc": ("ARMCI_Unlock", "proc = 99, but must be 0..0"),
    "mutex free": ("ARMCI_Unlock", "mutex = 0 of process 0 is not locked by this process"),
    "mutex twice": ("ARMCI_Create_mutexes", "call ARMCI_Destroy_mutexes first"),
    "mutex destroy": ("ARMCI_Destroy_mutexes", "call ARMCI_Create_mutexes first"),
    "group": ("armci_msg_group_barrier", "the group is not one of ARMCI_Group_create"),
    "group pid": ("ARMCI_Group_create", "pids[0] = 7, but must be 0..0"),
    "group twice": ("ARMCI_Group_create", "pids has a process twice"),
    "split null": ("ARMCIX_Group_split", "group_out is NULL, but must be an address"),
    "dup null": ("ARMCIX_Group_dup", "group_out is NULL, but must be an address"),
    "group gop null": ("armci_msg_group_igop", "the buffer is NULL, but must be an address"),
    "set null": ("ARMCIX_Lock_hdl", "hdl is no result of ARMCIX_Create_mutexes_hdl, or was destroyed"),
    "set invented": ("ARMCIX_Trylock_hdl", "hdl is no result of ARMCIX_Create_mutexes_hdl, or was destroyed"),
    "set destroyed": ("ARMCIX_Destroy_mutexes_hdl", "hdl is no result of ARMCIX_Create_mutexes_hdl, or was destroyed"),
    "gop": ("armci_msg_gop_scope", 'op = "^"'),
    "gop type": ("armci_msg_gop_scope", "type = 17"),
    "scope": ("armci_msg_bcast_scope", "scope = 9, but must be SCOPE_ALL"),
    "root": ("armci_msg_bcast", "root = 5, but must be"),
    "send": ("armci_msg_snd", "proc = 5, but must be 0..0"),
    "lock memory twice": ("armci_lockmem", "this thread has locked memory: call armci_unlockmem first"),
    "lock memory backwards": ("armci_lockmem", "the range ends before it begins"),
    "unlock memory": ("armci_unlockmem", "this thread has locked no memory: call armci_lockmem first"),
    "unlock memory late": ("armci_unlockmem", "call ARMCI_Init first"),
    "pack levels": ("armci_write_strided", "stride_levels = 9, but must be 0..8"),
    "pack count": ("armci_read_strided", "count[1] = -4, but must be 0 or more"),
    "pack null": ("armci_write_strided", "ptr is NULL, but must be an address"),
    "send null": ("armci_msg_snd", "the buffer is NULL, but must be an address"),
    "broadcast null": ("armci_msg_bcast", "the buffer is NULL, but must be an address"),
    "gop null": ("armci_msg_igop", "the buffer is NULL, but must be an address"),
    "tree null": ("armci_msg_bintree", "root, up, left or right is NULL, but must be an address"),
    "world null": ("ARMCI_Group_get_world", "group_out is NULL, but must be an address"),
    "receive short": ("armci_msg_rcv", "has 8 bytes, the buffer only 4"),
}


def run(case, **environment):
    return subprocess.run([MISUSE, case], capture_output=True, text=True, timeout=60,
                          env={**os.environ, **environment})


class Misuse(unittest.TestCase):
    def test_the_text_names_function_argument_and_limit(self):
        for case, (function, words) in FAULTS.items():
            with self.subTest(case=case):
                done = run(case)
                self.assertGreater(done.returncode, 0, done.stderr)
                self.assertNotIn("it went on", done.stdout)
                self.assertIn(f"armci: {function}: ", done.stderr)
                self.assertIn(words, done.stderr)

    def test_memory_of_another_host_is_not_locked(self):
        done = subprocess.run([os.environ["LCIRUN"], "-n", "2", MISUSE, "lock memory far"], capture_output=True,
                              text=True, timeout=60, env={**os.environ, "LCI_ATTR_RANKS_PER_HOST": "1"})
        self.assertGreater(done.returncode, 0, done.stderr)
        self.assertNotIn("it went on", done.stdout)
        self.assertRegex(done.stderr, "armci: armci_lockmem: process [01] is on another host: use ARMCI_Lock")

    def test_a_transfer_before_the_start_is_an_error_code(self):
        done = run("no init put")
        self.assertEqual(done.returncode, 3)
        self.assertIn("armci: ARMCI_Put: ARMCI is not running: call ARMCI_Init first", done.stderr)

    def test_a_negative_size_is_an_error_code(self):
        done = run("malloc negative")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("armci: ARMCI_Malloc: bytes = -5, but must be 0 or more\n", done.stderr)

    def test_an_error_names_the_size_as_the_function_does(self):
        for case, text in {"put size": "ARMCI_Put: bytes = -4", "puts size": "ARMCI_PutS: count[0] = -4",
                           "nbgets size": "ARMCI_NbGetS: count[0] = -4",
                           "accs size": "ARMCI_AccS: count[0] = 4"}.items():
            with self.subTest(case=case):
                done = run(case)
                self.assertGreater(done.returncode, 0, done.stderr)
                self.assertIn(f"armci: {text}, but must be", done.stderr)

    def test_of_several_threads_that_call_armci_error_one_prints_and_sets_the_code(self):
        for _ in range(5):
            done = run("error of threads")
            self.assertRegex(done.stdout, r"\A0: a thread's own reason 4[0-3]\n\Z")
            self.assertIn(done.stdout, done.stderr)
            self.assertEqual(done.stdout.split()[-1], str(done.returncode))

    def test_a_setting_with_another_value_is_an_error_code(self):
        for value in ("2", "-1", "maybe", "10", " 1"):
            with self.subTest(value=value):
                done = run("init", ARMCI_APPLIER=value)
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn(f"armci: ARMCI_Init: ARMCI_APPLIER={value}: not understood; accepted: 1 on true yes 0 off "
                              "false no", done.stderr)
        for value in ("", "0", "1", "off", "On", "true", "False", "yes", "NO"):
            with self.subTest(value=value):
                done = run("init", ARMCI_APPLIER=value)
                self.assertEqual((done.returncode, done.stderr), (4, ""))

    def test_armci_error_prints_to_both_streams_and_ends_with_the_code(self):
        done = run("error")
        self.assertEqual(done.returncode, 7)
        self.assertIn("0: the program's own reason 7", done.stdout)
        self.assertIn("0: the program's own reason 7", done.stderr)

    def test_each_case_is_looked_at(self):
        names = subprocess.run([MISUSE], capture_output=True, text=True, check=True).stdout.splitlines()
        here = {n for n in names if not n.startswith("dead ")}
        self.assertEqual(here, set(FAULTS) | {"no init put", "init", "error", "error of threads", "malloc negative",
                                               "lock memory far", "put size", "puts size", "nbgets size", "accs size"})


if __name__ == "__main__":
    unittest.main()
