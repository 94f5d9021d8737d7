"""The library exports what lci.h declares and nothing else, contains nothing of the core, and has all that interface.txt
lists; the header is valid C."""

import itertools
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from library_exports import LibraryExports, include

SOURCE = os.environ["LCI_SOURCE"]

INTERFACE = [line.split(maxsplit=1) for line in (pathlib.Path(__file__).parent / "interface.txt").read_text().splitlines()
             if line and not line.startswith("#")]


def listed(kind):
    return [rest for first, rest in INTERFACE if first == kind]


class Exports(LibraryExports, unittest.TestCase):
    LIBRARY = os.environ["V1_LIBRARY"]
    FEWEST = 80
    C_HEADERS = ("lci.h", "LCI.h", "lci_config.h")

    def declared(self):
        text = re.sub(r"/\*.*?\*/", "", include("lci.h"), flags=re.S)
        names = set()
        for declaration in re.findall(r"^(?:__extension__ )?(?:extern )?LCI_API ([^;]*);", text, re.M):
            named = declaration.split("(")[0] if "(" in declaration else declaration
            found = re.findall(r"\b(LCIX?_\w+)\b(?! \w|\*)", named)
            names |= {n for n in found if n not in ("LCI_error_t", "LCI_device_t", "LCI_endpoint_t", "LCI_comp_t")}
        return names

    def test_all_names_that_programs_use_are_there_and_no_others(self):
        names = {line.split()[0] for line in listed("function") + listed("variable")}
        self.assertGreater(len(names), 100)
        self.assertEqual(names ^ self.exported(), set())


class Header(unittest.TestCase):
    """Programs of both kinds compile without a warning."""

    PUBLIC = """
LCI_error_t (*pop)(LCI_comp_t, LCI_request_t*) = LCI_queue_pop;
LCI_error_t f(LCI_comp_t cq, LCI_request_t* r, LCI_mbuffer_t b, size_t* n) {
  return pop(cq, r) == LCI_OK && LCI_queue_pop(cq, r) == LCI_OK && LCI_queue_pop_multiple(cq, 1, r, n) == LCI_OK ?
    LCI_recvm(LCI_UR_ENDPOINT, b, LCI_RANK_ANY, 0, cq, NULL) : LCI_OK;
}
"""
    DOCUMENT = """
LCI_error_t g(LCI_comp_t cq, LCI_request_t* r, LCI_mbuffer_t b, size_t n) {
  LCI_reg_t segment = LCI_SEGMENT_ALL;
  (void)segment;
  return LCI_queue_pop(&cq, r) == LCI_OK && LCI_queue_pop_multiple(&cq, 1, r, n) == LCI_OK ?
    LCI_recvm(LCI_UR_ENDPOINT, &b, 0, 0, cq, NULL) : LCI_OK;
}
"""

    def compile(self, compiler, language, standard, text, pedantic=True):
        if shutil.which(compiler) is None:
            self.skipTest(f"{compiler} is not installed")
        with tempfile.NamedTemporaryFile("w", suffix="." + language) as f:
            f.write(text)
            f.flush()
            done = subprocess.run([compiler, f"-std={standard}", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
                                   *(["-Wpedantic"] if pedantic else []), f"-I{SOURCE}/include", f.name], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_types_values_and_layouts_are_those_that_programs_rely_on(self):
        lines = ["#include <lci.h>"]

        def is_type(expression, wanted):
            lines.append(f'_Static_assert(_Generic(&{expression}, __typeof__({wanted}) *: 1, default: 0), "{expression}");')

        for name in listed("macro"):
            lines += [f"#ifndef {name}", f"#error {name} is no macro", "#endif"]
        # Undefine macros of the same name, since programs may take the functions' addresses.
        lines += [f"#undef {name}" for name in ("LCI_queue_pop", "LCI_queue_pop_multiple", "LCI_recvm")]
        for line in listed("function"):
            name, result, parameters = line.split(maxsplit=2)
            is_type(name, result + parameters)
        for line in listed("variable"):
            is_type(*line.split(maxsplit=1))
        for line in listed("member"):
            owner, member, wanted = line.split(maxsplit=2)
            is_type(f"((({owner}*)0)->{member})", wanted)
        for line in listed("value"):
            expression, number = line.rsplit(maxsplit=1)
            lines.append(f'_Static_assert((long)({expression}) == {number}, "{expression}");')
        for line in listed("type"):
            name, wanted = line.split(maxsplit=2 if line.startswith("struct") else 1)[-2:]
            name = "struct " + name if line.startswith("struct") else name
            is_type(f"(*({name} *)0)", wanted)
        self.assertGreater(len(lines), 200)
        self.compile("gcc", "c", "gnu11", "\n".join(lines) + "\n", pedantic=False)

    def test_each_function_alone_in_a_program_in_c99(self):
        """Its address with the type that programs declare, and its call."""
        functions = listed("function")
        for line in functions:
            name, result, parameters = line.split(maxsplit=2)
            with self.subTest(function=name):
                types = [] if parameters == "(void)" else parameters[1:-1].split(", ")
                declared = ", ".join(f"{t} a{i}" for i, t in enumerate(types)) or "void"
                values = ", ".join(f"a{i}" for i in range(len(types)))
                self.compile("gcc", "c", "c99",
                             f"#include <lci.h>\nint main(void) {{ return 0; }}\n"
                             f"extern {result} (*p){parameters};\n{result} (*p){parameters} = {name};\n"
                             f"extern {result} f({declared});\n{result} f({declared}) {{ return {name}({values}); }}\n")
        self.assertGreater(len(functions), 75)

    def test_programs_in_c89_include_the_header(self):
        for compiler in "gcc", "clang":
            with self.subTest(compiler=compiler):
                self.compile(compiler, "c", "c89", "#include <lci.h>\nint main(void) { return 0; }\n")

    def test_c(self):
        vectors = ("", "#define LCI_USE_AVX\n")
        for compiler, standard, avx in itertools.product(("gcc", "clang"), ("c99", "c11"), vectors):
            with self.subTest(compiler=compiler, standard=standard, avx=avx):
                self.compile(compiler, "c", standard, avx + "#include <lci.h>\n" + self.PUBLIC)
                self.compile(compiler, "c", standard, "#define LCI_STRICT_DOCUMENT\n" + avx + "#include <LCI.h>\n" +
                             self.DOCUMENT)
        for compiler in ("gcc", "clang"):
            self.compile(compiler, "c", "c11", "#include <lci.h>\n" + self.PUBLIC + self.DOCUMENT)

    def test_cpp(self):
        for compiler, standard in itertools.product(("g++", "clang++"), ("c++11", "c++17", "c++20")):
            with self.subTest(compiler=compiler, standard=standard):
                self.compile(compiler, "cpp", standard, "#include <lci.h>\n" + self.PUBLIC + self.DOCUMENT)


if __name__ == "__main__":
    unittest.main()
