"""The library exports the functions of its headers and nothing else, and needs only LCI, the language and the system.
It has all that interface.txt lists."""

import os
import pathlib
import re
import subprocess
import unittest

from library_exports import WARNINGS_OF_CASTS, LibraryExports, complaints, output

HEADERS = pathlib.Path(os.environ["LCI_SOURCE"]) / "include" / "armci"
INTERFACE = [line.split(maxsplit=1) for line in (pathlib.Path(__file__).parent / "interface.txt").read_text().splitlines()
             if line and not line.startswith("#")]


def listed(kind):
    return [rest for first, rest in INTERFACE if first == kind]


class Exports(LibraryExports, unittest.TestCase):
    LIBRARY = os.environ["ARMCI_LIBRARY"]
    FEWEST = 200
    MAY_NEED = ("libdl.so",)
    C_HEADERS = tuple(f"armci/{header.name}" for header in HEADERS.glob("*.h") if header.name != "mp3.h")  # needs MPI

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

    def test_headers_and_functions_serve_old_and_new_languages(self):
        # A program of the interface's time declares a function again, passes its address, and pads operators.
        program = """
#include <armci.h>
#include <armcix.h>
#include <iterator.h>
#include <message.h>
#include <parmci.h>
#ifdef __cplusplus
extern "C" {
#endif
void ARMCI_Error(char *message, int code);
#ifdef __cplusplus
}
#endif
static void (*on_error)(char *, int) = ARMCI_Error;
int main(int argc, char **argv) {
  char op[] = "max ";
  long value = 0;
  if (ARMCI_Init_args(&argc, &argv) != 0) ARMCI_Error("no start", 1);
  if (argc > 99) on_error(op, 2);
  armci_msg_lgop(&value, 1, op);
  return ARMCI_Finalize();
}
"""
        self.assertEqual(complaints(program, HEADERS, "-DARMCI_WITHOUT_MPI"), [])

    def test_macros_cause_no_warnings_of_casts_in_cpp(self):
        program = """
#include <armci.h>
#define FUNCTION_NAME "f"
int f(int* from, int* to);
int f(int* from, int* to) {
  int bytes = 4;
  ARMCI_Put1(from, to, bytes, 0);
  dassert(1, from != to);
  dassert1(1, *from == *to, *to);
  dassertp(1, *from == *to, ("%d", *to));
  dassertc(1, *from == *to, ("%d", *to), 3);
  if (*from != *to) armci_die2("copy", 1, 2);
  return ARMCI_ACC_DCPL + FAIL8;
}
"""
        self.assertEqual(complaints(program, HEADERS, "-DARMCI_WITHOUT_MPI", *WARNINGS_OF_CASTS, c=()), [])


if __name__ == "__main__":
    unittest.main()
