"""What compiles with lci/cpp20.hpp and what does not: each mistake has a control, as in test_compile.py."""

import unittest
from concurrent.futures import ThreadPoolExecutor

from compiling import COMPILERS, STRICT as STRICT_17, compile_text, precompiled

STRICT = ("-std=c++20", *STRICT_17[1:])
FRAME = """
#include <functional>
#include <lci/cpp20.hpp>
#include <string>
#include <vector>
struct maximum {{ double operator()(double a, double b) const {{ return a < b ? b : a; }} }};
struct scaled {{ double by; double operator()(double a, double b) const {{ return by * (a + b); }} }};
lci::task<int> answer();
lci::unique_handle<lci::device_t> take(lci::unique_handle<lci::device_t>);
lci::task<> {name}(lci::unique_handle<lci::device_t>& owner, lci::comp_t comp, lci::status_t status,
                   std::vector<int>& numbers, const std::vector<int>& constant, int* pointer) {{
  {statement}
  static_cast<void>(owner), static_cast<void>(comp), static_cast<void>(status);
  static_cast<void>(numbers), static_cast<void>(constant), static_cast<void>(pointer);
  co_return;
}}
"""

# name: (control, mistake, the compilers' error for the mistake)
MISTAKES = {
    "a copy of an owner": (
        "auto other = std::move(owner);",
        "auto other = owner;",
        r"deleted|implicitly-deleted"),
    "a handle of a temporary owner": (
        "lci::progress_x().device(owner)();",
        "lci::progress_x().device(lci::unique_handle(lci::alloc_device()))();",
        r"deleted"),
    "freeing what is owned": (
        "lci::device_t d = owner.release(); lci::free_device(&d);",
        "lci::free_device(&owner);",
        r"cannot convert|cannot initialize|no matching function"),
    "an owner of a graph's node, which the graph frees": (
        "lci::unique_handle h{lci::alloc_graph()};",
        "lci::unique_handle h{lci::graph_node_t()};",
        r"class template argument deduction failed|no viable constructor|constraint"),
    "an owner that is discarded at once": (
        "lci::unique_handle h{lci::alloc_sync()};",
        "take(std::move(owner));",
        r"nodiscard|unused"),
    "a buffer of pointers": (
        "lci::buffer(numbers);",
        "std::vector<int*> v; lci::buffer(v);",
        r"no matching function|constraints"),
    "a buffer of objects that are not trivially copyable": (
        "lci::buffer(numbers);",
        "std::vector<std::string> v; lci::buffer(v);",
        r"no matching function|constraints"),
    "a buffer without a size": (
        "lci::buffer(*pointer);",
        "lci::buffer(pointer);",
        r"no matching function|constraints|deleted"),
    "a buffer of a temporary": (
        "lci::buffer(numbers);",
        "lci::buffer(std::vector<int>(3));",
        r"no matching function|constraints|deleted"),
    "a buffer of a temporary number": (
        "int i = 3; lci::buffer(i);",
        "lci::buffer(3);",
        r"deleted"),
    "receiving into constant values": (
        "lci::post_recv_x(1, lci::buffer(numbers), 0, comp)();",
        "lci::post_recv_x(1, lci::buffer(constant), 0, comp)();",
        r"could not convert|no matching"),
    "a value that is not bytes": (
        "lci::value<int>(status);",
        "lci::value<std::string>(status);",
        r"no matching function|constraints"),
    "a reduction with a state": (
        "lci::reduce_op_t op = lci::reduction<double, maximum>; static_cast<void>(op);",
        "lci::reduce_op_t op = lci::reduction<double, scaled>; static_cast<void>(op);",
        r"constraint"),
    "waiting for what does not post": (
        "co_await lci::post_send_x(1, lci::buffer(numbers), 0, lci::COMP_NULL);",
        "co_await lci::alloc_device_x();",
        r"await_ready"),
    "waiting for a status": (
        "co_await lci::post_send_x(1, lci::buffer(numbers), 0, lci::COMP_NULL);",
        "co_await lci::post_send_x(1, lci::buffer(numbers), 0, lci::COMP_NULL)();",
        r"await_ready"),
    "waiting twice for a task": (
        "auto t = answer(); co_await std::move(t);",
        "auto t = answer(); co_await t;",
        r"discards qualifiers|await_ready|no viable|no match|not viable"),
    "a task that is not awaited": (
        "co_await answer();",
        "answer();",
        r"nodiscard|unused"),
    "when_all with a functor that does not post": (
        "co_await lci::when_all(lci::post_send_x(1, lci::buffer(numbers), 0, comp));",
        "co_await lci::when_all(lci::barrier_x());",
        r"no matching function|constraint"),
    "a task with a result, spawned": (
        "lci::scheduler s; s.spawn([]() -> lci::task<> { co_return; }());",
        "lci::scheduler s; s.spawn(answer());",
        r"could not convert|no viable|cannot convert|no matching"),
}


class Compile(unittest.TestCase):
    def test_controls_compile(self):
        program = "".join(FRAME.format(name=f"use_{i}", statement=control)
                          if i == 0 else self.only_function(f"use_{i}", control)
                          for i, (control, _, _) in enumerate(MISTAKES.values()))
        for compiler in COMPILERS:
            with self.subTest(compiler=compiler):
                result = compile_text(compiler, program, *STRICT, "-fsyntax-only")
                self.assertEqual(result.returncode, 0, result.stderr)

    @staticmethod
    def only_function(name, statement):
        text = FRAME.format(name=name, statement=statement)
        return text[text.index("lci::task<> " + name):]

    def test_mistakes_are_found(self):
        cases = [(c, name) for c in COMPILERS for name in MISTAKES]

        headers = {c: precompiled(c, "lci/cpp20.hpp", *STRICT) for c in COMPILERS}

        def attempt(case):
            text = FRAME.format(name="use", statement=MISTAKES[case[1]][1])
            return compile_text(case[0], text, *STRICT, *headers[case[0]], "-fsyntax-only")

        with ThreadPoolExecutor(2) as pool:
            for (compiler, name), result in zip(cases, pool.map(attempt, cases)):
                with self.subTest(compiler=compiler, mistake=name):
                    self.assertNotEqual(result.returncode, 0, "the mistake was not found")
                    self.assertRegex(result.stderr, MISTAKES[name][2])

    def test_an_older_standard_gets_an_error_that_names_cpp20(self):
        for compiler in COMPILERS:
            with self.subTest(compiler=compiler):
                result = compile_text(compiler, "#include <lci/cpp20.hpp>\n", *STRICT_17,
                                      "-fsyntax-only")
                self.assertNotEqual(result.returncode, 0)
                self.assertIn("needs C++20", result.stderr)


if __name__ == "__main__":
    unittest.main()
