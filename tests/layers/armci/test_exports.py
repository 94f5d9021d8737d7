"""The library shows the functions of its headers and nothing else, and needs only LCI, the language and the system."""

import os
import pathlib
import re
import subprocess
import unittest

LIBRARY = os.environ["ARMCI_LIBRARY"]
HEADERS = pathlib.Path(os.environ["LCI_SOURCE"]) / "include" / "armci"


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Exports(unittest.TestCase):
    def test_symbols_are_those_of_the_headers(self):
        shown = {line.split()[-1] for line in output("nm", "-D", "--defined-only", LIBRARY).splitlines()}
        declared = set()
        for header in HEADERS.glob("*.h"):
            declared |= set(re.findall(r"^(?:extern )?ARMCI_API [^;]*?\b(\w+)(?=\(|;)", header.read_text(), re.M))
        self.assertGreater(len(declared), 200)
        self.assertEqual(shown, declared)

    def test_functions_that_programs_may_replace_are_weak(self):
        kinds = {line.split()[-1]: line.split()[-2] for line in output("nm", "-D", LIBRARY).splitlines()}
        twins = [name for name in kinds if name.startswith("PARMCI_")]
        self.assertGreater(len(twins), 60)
        self.assertEqual([t for t in twins if kinds[t] != "T" or kinds[t[1:]] != "W"], [])

    def test_the_library_needs_only_lci_and_system_libraries(self):
        needed = re.findall(r"\(NEEDED\)\s+Shared library: \[(.+?)\]", output("readelf", "-d", LIBRARY))
        self.assertIn("liblci.so.2", needed)
        allowed = ("liblci.so.2", "libstdc++.so", "libgcc_s.so", "libc.so", "libm.so", "ld-linux", "libpthread.so",
                   "libdl.so", "libasan.so", "libubsan.so", "libtsan.so")
        self.assertEqual([n for n in needed if not n.startswith(allowed)], [])


if __name__ == "__main__":
    unittest.main()
