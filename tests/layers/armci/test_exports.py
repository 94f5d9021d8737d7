"""The library exports the functions of its headers and nothing else, and needs only LCI, the language and the system.
It has all that interface.txt lists."""

import os
import pathlib
import re
import subprocess
import unittest

from library_exports import LibraryExports, output

HEADERS = pathlib.Path(os.environ["LCI_SOURCE"]) / "include" / "armci"
INTERFACE = [line.split(maxsplit=1) for line in (pathlib.Path(__file__).parent / "interface.txt").read_text().splitlines()
             if line and not line.startswith("#")]


def listed(kind):
    return [rest for first, rest in INTERFACE if first == kind]


class Exports(LibraryExports, unittest.TestCase):
    LIBRARY = os.environ["ARMCI_LIBRARY"]
    FEWEST = 200
    MAY_NEED = ("libdl.so",)

    def declared(self):
        names = set()
        for header in HEADERS.glob("*.h"):
            names |= set(re.findall(r"^(?:extern )?ARMCI_API [^;]*?\b(\w+)(?=\(|;)", header.read_text(), re.M))
        return names

    def test_functions_that_programs_may_replace_are_weak(self):
        kinds = {line.split()[-1]: line.split()[-2] for line in output("nm", "-D", self.LIBRARY).splitlines()}
        twins = [name for name in kinds if name.startswith("PARMCI_")]
        self.assertGreater(len(twins), 60)
        self.assertEqual([t for t in twins if kinds[t] != "T" or kinds[t[1:]] != "W"], [])

    def test_all_functions_that_programs_call_are_there(self):
        names = set(listed("function"))
        self.assertGreater(len(names), 230)
        self.assertEqual(names - self.exported(), set())
        self.assertEqual(names - self.declared(), set())

    def test_each_function_is_listed(self):
        self.assertEqual(self.exported() - set(listed("function")), set())

    def test_constants_and_layouts_are_those_of_the_binaries(self):
        lines = ["#include <stddef.h>"] + [f"#include <{h.name}>" for h in sorted(HEADERS.glob("*.h")) if h.name != "mp3.h"]
        for value in listed("value"):
            expression, number = value.rsplit(maxsplit=1)
            lines.append(f'_Static_assert((long)({expression}) == {number}, "{value}");')
        for name in listed("macro"):
            lines += [f"#ifndef {name}", f"#error {name} is no macro", "#endif"]
        self.assertGreater(len(lines), 60)
        done = subprocess.run(["cc", "-std=c11", "-fsyntax-only", "-DARMCI_WITHOUT_MPI", "-I", str(HEADERS), "-xc", "-"],
                              input="\n".join(lines) + "\n", capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
