"""What each layer's library must export and need. A test class of a layer derives from unittest.TestCase and this one."""

import os
import re
import subprocess


# Many C++ programs are compiled with these.
WARNINGS_OF_CASTS = ("-Wold-style-cast", "-Wcast-qual", "-Wconversion", "-Wsign-conversion")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def include(*path):
    """The text of a public header."""
    with open(os.path.join(os.environ["LCI_SOURCE"], "include", *path)) as f:
        return f.read()


def complaints(program, folder, *options, c=("c89", "c99", "c11"), cpp=("c++98", "c++11", "c++17")):
    """What compilers for several standards print about a program in C and C++, with many warnings."""
    found = []
    for compiler, language, standards in (("cc", "c", c), ("c++", "c++", cpp)):
        strict = ["-Wstrict-prototypes", "-Wold-style-definition"] if language == "c" else []
        for standard in standards:
            done = subprocess.run([compiler, f"-std={standard}", "-Wpedantic", "-Wall", "-Wextra", "-Werror", *strict,
                                   *options, "-fsyntax-only", "-I", str(folder), "-x" + language, "-"],
                                  input=program, capture_output=True, text=True)
            if done.returncode != 0 or done.stderr:
                found.append(f"{standard}: {done.stderr}")
    return found


class LibraryExports:
    LIBRARY = ""  # its path
    FEWEST = 50  # names that it declares: fewer mean that the headers were not understood
    NEEDS = "liblci.so.2"  # the library of LCI on which it is built
    MAY_NEED = ()  # libraries, besides those that all may need
    C_HEADERS = ()  # paths below include/ of headers of C

    def declared(self):
        """The names that the headers declare."""
        raise NotImplementedError

    def exported(self):
        return {line.split()[-1] for line in output("nm", "-D", "--defined-only", self.LIBRARY).splitlines()}

    def test_symbols_are_those_of_the_headers(self):
        declared = self.declared()
        self.assertGreater(len(declared), self.FEWEST)
        self.assertEqual(self.exported(), declared)

    def test_programs_of_cpp_may_include_the_headers_inside_their_own_extern_c(self):
        folder = os.path.join(os.environ["LCI_SOURCE"], "include")
        for header in self.C_HEADERS:
            with self.subTest(header=header):
                options = "-I", os.path.dirname(os.path.join(folder, header))
                program = f'extern "C" {{\n#include <{header}>\n}}\n'
                self.assertEqual(complaints(program, folder, *options, c=(), cpp=("c++11", "c++17")), [])

    def test_the_library_contains_nothing_of_the_core(self):
        """It must use the bootstrap of the process's runtimes, not a copy."""
        inside = [line for line in output("nm", "-C", self.LIBRARY).splitlines()
                  if re.search(r" [TtBbDd] .*\blci::(?:core|network)::", line)]
        self.assertEqual(inside, [])

    def test_the_library_needs_only_lci_and_system_libraries(self):
        needed = re.findall(r"\(NEEDED\)\s+Shared library: \[(.+?)\]", output("readelf", "-d", self.LIBRARY))
        self.assertIn(self.NEEDS, needed)
        allowed = (self.NEEDS, "liblci.so.2", "libstdc++.so", "libgcc_s.so", "libc.so", "libm.so", "ld-linux",
                   "libpthread.so", "libasan.so", "libubsan.so", "libtsan.so") + self.MAY_NEED
        self.assertEqual([n for n in needed if not n.startswith(allowed)], [])
