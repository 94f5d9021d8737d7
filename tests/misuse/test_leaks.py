"""A runtime with the attribute `check` reports at its end which objects were not freed, and the line of the
program that allocated each. Without the attribute it reports nothing."""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

PROGRAM = os.environ["LEAKS"]
SOURCE = pathlib.Path(__file__).parent / "leaks.cpp"


def report(check):
    env = {**os.environ, "LCI_ATTR_CHECK": check, "LCI_ATTR_BACKEND": "shm", "ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run([PROGRAM], env=env, text=True, stderr=subprocess.PIPE, timeout=60, check=True)
    return [line for line in done.stderr.splitlines() if "was not freed" in line]


class Leaks(unittest.TestCase):
    def test_each_leak_is_reported_and_freed_objects_are_not(self):
        told = report("1")
        self.assertEqual(len(told), 5, told)
        for operation in ("alloc_cq", "alloc_sync", "register_memory", "alloc_matching_engine",
                          "alloc_symmetric"):
            self.assertEqual(sum(f"the object from {operation}," in line for line in told), 1, told)
        self.assertTrue(any("named 'a queue'" in line for line in told), told)

    def test_the_line_of_the_program_is_named(self):
        if shutil.which("addr2line") is None:
            self.skipTest("no addr2line (Debian: binutils)")
        lines = [n for n, text in enumerate(SOURCE.read_text().splitlines(), 1) if "// leak " in text]
        told = report("1")
        named = sorted(int(n) for line in told for n in re.findall(r"leaks\.cpp:(\d+)", line))
        self.assertEqual(named, lines, told)

    def test_nothing_is_reported_without_check(self):
        self.assertEqual(report("0"), [])


if __name__ == "__main__":
    unittest.main()
