"""A program compiled with headers that do not fit the library gets an error at its first call."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from compiling import COMPILERS, GENERATED, SOURCE

LIBRARY = pathlib.Path(os.environ["LCI_LIBRARY"])
PROGRAM = """
#include <lci.hpp>

#include <cstdio>

int main() {
  try {
    %s;
    lci::%s;
  } catch (const lci::version_error& error) {
    std::printf("version_error: %%s\\n", error.what());
    return 3;
  }
  std::printf("fits\\n");
}
"""
BEGINNINGS = (("auto r = lci::alloc_runtime_x().alloc_default_device(false)()", "free_runtime(&r)"),
              ("lci::g_runtime_init()", "g_runtime_fina()"),
              ("lci::global_initialize()", "global_finalize()"))
CHANGES = {  # differences of an older or newer header: file, text, its replacement
    "a member of a device's front": ("direct.hpp", "  unsigned shared_place = 0; ",
                                     "  unsigned more = 0, shared_place = 0; "),
    "the order of its members": ("direct.hpp", "  size_t direct_end = 0;        ///< messages of fewer bytes may take "
                                 "the direct path\n  uintptr_t packets = 0; ",
                                 "  uintptr_t packets = 0;\n  size_t direct_end = 0; "),
    "inlined code": ("abi.hpp", "inlined_code = 3;", "inlined_code = 77;"),
    "a virtual function's class": ("completion.hpp", "  attr_t attr;\n", "  attr_t attr;\n  long more = 0;\n"),
}


class Layout(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.include = self.folder / "include"
        shutil.copytree(SOURCE / "include", self.include)
        shutil.copytree(GENERATED, self.include, dirs_exist_ok=True)

    def run_program(self, beginning, end):
        program = self.folder / "program"
        subprocess.run([COMPILERS[0], "-std=c++17", "-O0", "-x", "c++", "-", "-o", program, f"-I{self.include}",
                        "-x", "none", LIBRARY, f"-Wl,-rpath,{LIBRARY.parent}"], input=PROGRAM % (beginning, end),
                       text=True, check=True, timeout=300)
        return subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)

    def change(self, name, text, replacement):
        path = self.include / "lci" / name
        before = path.read_text()
        self.assertEqual(before.count(text), 1, f"{name} has no such text any more: {text}")
        path.write_text(before.replace(text, replacement))

    def refused(self, beginning):
        result = self.run_program(*beginning)
        self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
        self.assertIn("compile it again", result.stdout)

    def test_the_library_s_own_headers_are_accepted(self):
        for beginning in BEGINNINGS:
            result = self.run_program(*beginning)
            self.assertEqual((result.returncode, result.stdout), (0, "fits\n"), result.stderr)

    def test_changed_headers_are_rejected(self):
        for what, change in CHANGES.items():
            with self.subTest(what):
                before = (self.include / "lci" / change[0]).read_text()
                self.change(*change)
                self.refused(BEGINNINGS[0])
                (self.include / "lci" / change[0]).write_text(before)

    def test_headers_with_an_additional_argument_are_rejected(self):
        # As the generator would change it.
        header = (self.include / "lci" / "operations.hpp").read_text()
        number = header[header.index("layout_of_headers(0x"):].split(")")[0]
        self.change("operations.hpp", number, "layout_of_headers(0x1234")
        for beginning in BEGINNINGS:
            with self.subTest(beginning[0]):
                self.refused(beginning)


if __name__ == "__main__":
    unittest.main()
