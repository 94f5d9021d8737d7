"""Wrong types are compile errors with a helpful text. Correct programs compile as C++17 and C++20."""

import re
import unittest

from compiling import COMPILERS, compile_text

PROGRAM = """
#include "lci/rpc.hpp"
#include <fstream>
namespace rpc = lci::rpc;
struct point { int x; int y; };
struct holder { std::unique_ptr<int> p; };
constexpr rpc::procedure<int(std::string, int)> open_file{"open"};
void program(rpc::engine& e, rpc::peer server) {
  auto open = e.declare(open_file);
  std::string text;
  BLOCK
}
"""
RIGHT = """
  int fd = open.on(server)("a", 1);
  auto f = open.call_x(server, text, 2).deadline(std::chrono::milliseconds(50))();
  e.define(open_file, [](const std::string&, int) { return 1; });
  e.define("points", [](std::vector<point> p, std::optional<point>) { return p; });
  static_cast<void>(fd);
"""
# title: (code, text that the compiler's message must contain)
WRONG = {
    "too few arguments": ('open.on(server)("a");', "rpc: wrong number of arguments"),
    "too many arguments": ('open.call_x(server, "a", 1, 2);', "rpc: wrong number of arguments"),
    "an argument of another type": ('open.on(server)(1, "a");', "rpc: an argument can't be converted"),
    "an argument of another type, later": ('open.call_x(server, "a", text);', "number = 2"),
    "a function that is not the procedure": ('e.define(open_file, [](int) { return 1; });',
                                             "rpc: the function's parameters or result are not those of the procedure"),
    "a pointer as a parameter": ('e.define("f", [](int*) {});', "rpc: a parameter's type can't be encoded"),
    "a struct that can't be encoded": ('e.define("f", [](const holder&) {});',
                                       "rpc: a parameter's type can't be encoded"),
    "a reference as a parameter": ('e.define("f", [](std::string&) {});',
                                   "rpc: a function can't change its caller's arguments"),
    "a view as a result": ('e.define("f", []() -> std::string_view { return "x"; });',
                           "rpc: a result must own its memory"),
    "a result that can't be encoded": ('e.define("f", []() { return std::make_unique<int>(1); });',
                                       "rpc: the result's type can't be encoded"),
    "a handle and a result": ('e.define("f", [](rpc::handle<int>) { return 1; });',
                              "rpc: a function with a handle answers through it"),
}


class CompileErrors(unittest.TestCase):
    def compile(self, compiler, block, standard="-std=c++17"):
        return compile_text(compiler, PROGRAM.replace("BLOCK", block), standard, "-Wall", "-Wextra", "-Werror",
                            "-fsyntax-only")

    def test_valid_programs_compile(self):
        for compiler, standard in zip(COMPILERS, ("-std=c++17", "-std=c++20")):
            with self.subTest(compiler=compiler, standard=standard):
                done = self.compile(compiler, RIGHT, standard)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_invalid_programs_do_not_compile_and_the_error_says_why(self):
        """All at once, as the headers take long: each is a file of its own in the compiler's messages."""
        done = self.compile("g++", "\n".join(f'#line 1 "{title}"\n  {block}' for title, (block, _) in WRONG.items()))
        self.assertNotEqual(done.returncode, 0)
        for title, (_, text) in WRONG.items():
            with self.subTest(title):
                # From the end of the message before it to its own: the lines of one error.
                errors = re.split(r"^In file included from |(?=^[^ ].*In instantiation of )", done.stderr, flags=re.M)
                self.assertTrue(any(f"{title}:1:" in e and text in e for e in errors), done.stderr[:6000])


if __name__ == "__main__":
    unittest.main()
