"""The shared library shows the public interface and nothing else."""

import os
import re
import subprocess
import unittest

LIBRARY = os.environ.get("LCI_LIBRARY", "build/release/liblci.so")
# What C++ itself may leave visible: shared copies of the standard library's templates.
STANDARD = re.compile(r"^(?:std::|__gnu_cxx::|(?:typeinfo|vtable|VTT|typeinfo name|guard variable) "
                      r"for (?:std::|__gnu_cxx::)|.*\bstd::|operator (?:new|delete))")
PRIVATE = re.compile(r"\blci::(?:core|network|base)::")


def exported():
    out = subprocess.run(["nm", "-D", "--defined-only", "-C", LIBRARY], check=True,
                         capture_output=True, text=True).stdout
    return [line.split(maxsplit=2)[2] for line in out.splitlines() if len(line.split()) >= 3]


class Exports(unittest.TestCase):
    def test_symbols_are_those_of_the_interface(self):
        names = exported()
        self.assertGreater(len(names), 50)
        wrong = [n for n in names if "lci::" not in n and not STANDARD.match(n)]
        self.assertEqual(wrong, [])

    def test_nothing_of_the_inside_is_defined_for_others(self):
        # A public function may take an inner type by name; it must not belong to the inside.
        wrong = [n for n in exported() if PRIVATE.search(n.split("(")[0])]
        self.assertEqual(wrong, [])

    def test_the_library_needs_only_the_language_and_the_system(self):
        out = subprocess.run(["readelf", "-d", LIBRARY], check=True, capture_output=True,
                             text=True).stdout
        needed = re.findall(r"\(NEEDED\)\s+Shared library: \[(.+?)\]", out)
        self.assertTrue(needed)
        allowed = ("libstdc++.so", "libgcc_s.so", "libc.so", "libm.so", "ld-linux", "libpthread.so",
                   "librt.so", "libdl.so", "libatomic.so", "libasan.so", "libubsan.so", "libtsan.so")
        self.assertEqual([n for n in needed if not n.startswith(allowed)], [])


if __name__ == "__main__":
    unittest.main()
