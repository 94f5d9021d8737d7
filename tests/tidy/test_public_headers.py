"""Each public header compiles alone, as C++17, without a warning, and all together do so with both compilers and as
C++20. Those that say so in their names are C++20. With LCI_TESTS_LONG=1 each compiles alone in all these ways."""

import os
import shutil
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

import tree

LONG = os.environ.get("LCI_TESTS_LONG", "0") != "0"


def generated_include():
    """The folder of the build in which lci/attributes.hpp has been generated."""
    for path in tree.BUILD.rglob("lci/attributes.hpp"):
        return path.parents[1]
    raise RuntimeError(f"no generated headers below {tree.BUILD}")


class PublicHeaders(unittest.TestCase):
    def compile_headers(self, compiler, standard, alone=LONG):
        if shutil.which(compiler) is None:
            self.skipTest(f"{compiler} is not installed")
        generated = generated_include()
        names = [str(p.relative_to("include")) for p in tree.files("include")]
        names += [str(p.relative_to(generated)) for p in sorted(generated.glob("lci/*.hpp"))]
        names += [str(p.relative_to(generated)) for p in sorted(generated.glob("ccs/*.hpp"))]
        self.assertIn("lci.hpp", names)
        names.remove("armci/mp3.h")  # needs MPI's header: it is macros for programs that use MPI
        if standard == "c++17":
            names = [n for n in names if not n.startswith("lci/cpp20") and n != "lci/rpc/coroutine.hpp"]

        def compile_some(some):
            with tempfile.NamedTemporaryFile("w", suffix=".cpp") as f:
                f.write("".join(f"#include <{name}>\n" for name in some) + "int main() {}\n")
                f.flush()
                return some, subprocess.run(
                    [compiler, f"-std={standard}", "-fsyntax-only", "-Wall", "-Wextra",
                     "-Wpedantic", "-Werror", f"-I{tree.SOURCE}/include", f"-I{tree.SOURCE}/include/armci",
                     f"-I{tree.SOURCE}/include/mercury",
                     f"-I{generated}", f"-I{generated}/armci", f.name],
                    capture_output=True, text=True)

        with ThreadPoolExecutor(2) as pool:
            for some, result in pool.map(compile_some, [[n] for n in names] if alone else [names]):
                with self.subTest(headers=some):
                    self.assertEqual(result.returncode, 0, result.stderr[:2000])

    def test_headers_of_cpp17_begin_with_an_error_that_says_so(self):
        generated = generated_include()
        for name in ("lci.hpp", "ccs.hpp", "armci.hpp"):
            result = subprocess.run(
                ["g++", "-std=c++14", "-fsyntax-only", "-x", "c++", f"-I{tree.SOURCE}/include",
                 f"-I{tree.SOURCE}/include/armci", f"-I{generated}", f"-I{generated}/armci", "-"],
                input=f"#include <{name}>\n", capture_output=True, text=True)
            self.assertNotEqual(result.returncode, 0)
            first = next(line for line in result.stderr.splitlines() if "error" in line)
            self.assertIn(f"{name} needs C++17: compile with -std=c++17", first)

    def test_with_gcc_as_cpp17(self):
        self.compile_headers("g++", "c++17", alone=True)

    def test_with_gcc_as_cpp20(self):
        self.compile_headers("g++", "c++20")

    def test_with_clang_as_cpp17(self):
        self.compile_headers("clang++", "c++17")

    def test_with_clang_as_cpp20(self):
        self.compile_headers("clang++", "c++20")


if __name__ == "__main__":
    unittest.main()
