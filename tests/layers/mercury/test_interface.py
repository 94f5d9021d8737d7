"""The headers have all that interface.txt lists, with these types and values, in C and in C++."""

import os
import pathlib
import subprocess
import tempfile
import unittest

HEADERS = pathlib.Path(os.environ["LCI_SOURCE"]) / "include" / "mercury"
INTERFACE = [line.split(maxsplit=1) for line in (pathlib.Path(__file__).parent / "interface.txt").read_text().splitlines()
             if line and not line.startswith("#")]
STANDARDS = (("c", "gnu89"), ("c", "c89"), ("c", "c99"), ("c", "c11"), ("c++", "c++11"), ("c++", "c++17"))
STRICT = ("-Wextra", "-Wpedantic")


def listed(kind):
    return [rest for first, rest in INTERFACE if first == kind]


def fields(text):
    return [part.strip() for part in text.split("|")]


class Interface(unittest.TestCase):
    def compile(self, lines, language="c", *options):
        only_c = ["-Wstrict-prototypes"] if language == "c" else []
        done = subprocess.run(["cc", "-x", language, "-fsyntax-only", "-Wall", "-Werror", "-I", str(HEADERS), *only_c, *options, "-"],
                              input="\n".join(lines) + "\n", capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr[:4000])

    def includes(self):
        return ["#include <stddef.h>", "#include <stdint.h>"] + [f"#include <{h}>" for h in listed("header")]

    def test_each_header_compiles_alone(self):
        self.assertGreater(len(listed("header")), 20)
        for header in listed("header"):
            for language, standard in STANDARDS:
                with self.subTest(header=header, standard=standard):
                    self.compile([f"#include <{header}>", "typedef int not_empty;"], language, f"-std={standard}", *STRICT)

    def test_programs_may_be_strict(self):
        """Macros that programs of v0.8.2 use, without a warning."""
        lines = self.includes() + [
            "MERCURY_GEN_PROC(open_in_t, ((hg_const_string_t)(path))((hg_uint64_t)(cookie)))",
            "MERCURY_GEN_PROC(open_out_t, ((hg_int32_t)(ret)))",
            "int main(void) {",
            'HG_LOG_ERROR("%d", 1); HG_LOG_WARNING("text"); HG_LOG_DEBUG("%d", 1); HG_ERROR_DEFAULT("%s", "text");',
            'HG_WARNING_DEFAULT("text"); NA_LOG_ERROR("%d", 1); NA_LOG_WARNING("text"); NA_LOG_DEBUG("text");',
            'return MERCURY_REGISTER("open", open_in_t, open_out_t, NULL) == 0;',
            "}"]
        for language, standard in STANDARDS:
            for verbose in ("-DHG_HAS_VERBOSE_ERROR", "-UHG_HAS_VERBOSE_ERROR"):
                with self.subTest(standard=standard, verbose=verbose):
                    self.compile(lines, language, f"-std={standard}", verbose, *STRICT)

    def test_functions_have_these_types(self):
        functions = [fields(f) for f in listed("function")]
        self.assertGreater(len(functions), 150)
        pointers = [f"{result} (*p{i})({parameters}) = {name};" for i, (result, name, parameters) in enumerate(functions)]
        names = "".join(f"(void)p{i};" for i in range(len(functions)))
        # Within a function, and after the pointers' use of the names, since a header may define functions as macros.
        self.compile(self.includes() + ["void check(void) {"] + pointers + [names, "}"], "c", "-std=gnu11")
        self.compile(self.includes() + ["void check() {"] + pointers + [names, "}"], "c++", "-std=c++17")

    def test_types_are_these(self):
        types = [fields(t) for t in listed("type")]
        self.assertGreater(len(types), 40)
        # Two declarations of one name must have the same type.
        lines = [f"extern __typeof__({what}) v{i}; extern __typeof__({name}) v{i};" for i, (name, what) in enumerate(types)]
        self.compile(self.includes() + lines, "c", "-std=gnu11")
        self.compile(self.includes() + lines, "c++", "-std=gnu++17")

    def test_constants_have_these_values(self):
        values = [v.rsplit(maxsplit=1) for v in listed("value")]
        self.assertGreater(len(values), 80)
        lines = [f'_Static_assert((long)({expression}) == {value}, "{expression}");' for expression, value in values]
        self.compile(self.includes() + lines, "c", "-std=gnu11")

    def test_macros_are_there_and_optional_parts_are_not(self):
        lines = self.includes()
        for name in listed("macro"):
            lines += [f"#ifndef {name}", f"#error {name} is no macro", "#endif"]
        for name in listed("absent"):
            lines += [f"#ifdef {name}", f"#error {name} is defined", "#endif"]
        self.assertGreater(len(lines), 80)
        self.compile(lines)

    def test_programs_that_define_hg_has_boost_get_boosts_header(self):
        with tempfile.TemporaryDirectory() as folder:
            header = pathlib.Path(folder, "boost", "preprocessor.hpp")
            header.parent.mkdir()
            header.write_text("#define BOOST_PP_CAT(a, b) a##b\n")
            self.compile(["#include <mercury_macros.h>", "#include <mercury_proc_string.h>",
                          "MERCURY_GEN_PROC(open_in_t, ((hg_const_string_t)(path)))",
                          "int BOOST_PP_CAT(ma, in)(void) { return MERCURY_REGISTER(\"open\", open_in_t, void, NULL) == 0; }"],
                         "c", "-std=c99", "-DHG_HAS_BOOST", "-I", folder)


if __name__ == "__main__":
    unittest.main()
