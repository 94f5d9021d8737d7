"""The library exports the functions of ccs.h and nothing else, and needs only LCI, the language and the system."""

import os
import re
import subprocess
import unittest

LIBRARY = os.environ["CCS_LIBRARY"]
HEADER = os.path.join(os.environ["LCI_SOURCE"], "include", "ccs.h")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Exports(unittest.TestCase):
    def test_symbols_are_those_of_the_header(self):
        shown = {line.split()[-1] for line in output("nm", "-D", "--defined-only", LIBRARY).splitlines()}
        with open(HEADER) as f:
            declared = set(re.findall(r"CCS_API [^;]*?\b(CCS_\w+)(?=\()", f.read()))
        self.assertGreater(len(declared), 50)
        self.assertEqual(shown, declared)

    def test_the_library_contains_nothing_of_the_core(self):
        inside = [line for line in output("nm", "-C", LIBRARY).splitlines()
                  if re.search(r" [TtBbDd] .*\blci::(?:core|network)::", line)]
        self.assertEqual(inside, [])

    def test_the_library_needs_only_lci_and_system_libraries(self):
        needed = re.findall(r"\(NEEDED\)\s+Shared library: \[(.+?)\]", output("readelf", "-d", LIBRARY))
        self.assertIn("liblci.so.2", needed)
        allowed = ("liblci.so.2", "libstdc++.so", "libgcc_s.so", "libc.so", "libm.so", "ld-linux", "libpthread.so",
                   "libasan.so", "libubsan.so", "libtsan.so")
        self.assertEqual([n for n in needed if not n.startswith(allowed)], [])


if __name__ == "__main__":
    unittest.main()
