"""What compiles and what does not. Each mistake stands beside a control that differs from it in
the mistake only, and that must compile: a test whose control fails proves nothing."""

import unittest
from concurrent.futures import ThreadPoolExecutor

from compiling import COMPILERS, SOURCE, STRICT, compile_text

STRICT_20 = ("-std=c++20", *STRICT[1:])
FRAME = """
#include <lci.hpp>
void {name}(lci::device_t device, lci::comp_t comp, lci::mr_t mr, void* buffer, const void* constant) {{
  {statement}
  static_cast<void>(device), static_cast<void>(comp), static_cast<void>(mr);
  static_cast<void>(buffer), static_cast<void>(constant);
}}
"""


def framed(statement, name="use"):
    return FRAME.format(statement=statement, name=name)


# name: (control, mistake, what the compilers say about the mistake)
MISTAKES = {
    "another handle as completion object": (
        "lci::post_send(1, buffer, 8, 0, comp);",
        "lci::post_send(1, buffer, 8, 0, device);",
        r"could not convert|no viable conversion|no known conversion"),
    "an untyped pointer as completion object": (
        "lci::post_send(1, buffer, 8, 0, comp);",
        "lci::post_send(1, buffer, 8, 0, buffer);",
        r"invalid conversion|could not convert|no viable conversion|no known conversion"),
    "a missing positional argument of a function": (
        "lci::post_am(1, buffer, 8, comp, 1);",
        "lci::post_am(1, buffer, 8, comp);",
        r"too few arguments|no matching function"),
    "a missing positional argument of a functor": (
        "lci::post_am_x(1, buffer, 8, comp, 1)();",
        "lci::post_am_x(1, buffer, 8, comp)();",
        r"no matching"),
    "a forgotten call": (
        "lci::progress_x()();",
        "lci::progress_x();",
        r"nodiscard"),
    "a forgotten call after positional arguments": (
        "lci::post_send_x(1, buffer, 8, 0, comp)();",
        "lci::post_send_x(1, buffer, 8, 0, comp);",
        r"nodiscard"),
    "a forgotten call after a setter": (
        "lci::post_send_x(1, buffer, 8, 0, comp).device(device)();",
        "lci::post_send_x(1, buffer, 8, 0, comp).device(device);",
        r"nodiscard"),
    "a setter that the operation does not have": (
        "lci::post_send_x(1, buffer, 8, 0, comp).user_context(buffer)();",
        "lci::post_send_x(1, buffer, 8, 0, comp).remote_comp(1)();",
        r"has no member named|no member named"),
    "a setter of another resource's attribute": (
        "lci::alloc_packet_pool_x().npackets(8)();",
        "lci::alloc_packet_pool_x().net_max_sends(8)();",
        r"has no member named|no member named"),
    "a setter of an attribute that is only readable": (
        "lci::alloc_device_x().net_max_sends(8)();",
        "lci::alloc_device_x().uid(8)();",
        r"has no member named|no member named"),
    "a registration given as device": (
        "lci::post_send_x(1, buffer, 8, 0, comp).mr(mr)();",
        "lci::post_send_x(1, buffer, 8, 0, comp).device(mr)();",
        r"could not convert|no viable conversion|no known conversion|no matching"),
    "a number as matching policy": (
        "lci::post_recv_x(1, buffer, 8, 0, comp)"
        ".matching_policy(lci::matching_policy_t::tag_only)();",
        "lci::post_recv_x(1, buffer, 8, 0, comp).matching_policy(2)();",
        r"cannot convert|could not convert|no viable conversion|no known conversion|no matching"),
    "receiving into constant memory": (
        "lci::post_send(1, constant, 8, 0, comp);",
        "lci::post_recv(1, constant, 8, 0, comp);",
        r"invalid conversion|cannot initialize|no matching function"),
    "a handle used as a truth value": (
        "if (!device.is_empty()) return;",
        "if (device) return;",
        r"could not convert|not contextually convertible"),
    "a node that is no posting operation": (
        "lci::graph_add_node_op(comp, lci::post_send_x(1, buffer, 8, 0, comp));",
        "lci::graph_add_node_op(comp, lci::alloc_device_x());",
        r"a node must be an operation that returns a status_t"),
}

FRAME_20 = """
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

# As MISTAKES, of lci/cpp20.hpp.
MISTAKES_20 = {
    "a copy of an owner": (
        "auto other = std::move(owner);",
        "auto other = owner;",
        r"deleted|implicitly-deleted"),
    "a handle of an owner that is gone": (
        "lci::progress_x().device(owner)();",
        "lci::progress_x().device(lci::unique_handle(lci::alloc_device()))();",
        r"deleted"),
    "freeing what is owned": (
        "lci::device_t d = owner.release(); lci::free_device(&d);",
        "lci::free_device(&owner);",
        r"cannot convert|no matching function|no viable"),
    "an owner of a graph's node, which the graph frees": (
        "lci::unique_handle h{lci::alloc_graph()};",
        "lci::unique_handle h{lci::graph_node_t()};",
        r"class template argument deduction failed|no viable constructor|constraint"),
    "an owner that is forgotten at once": (
        "lci::unique_handle h{lci::alloc_sync()};",
        "take(std::move(owner));",
        r"nodiscard|unused"),
    "a buffer of pointers": (
        "lci::buffer(numbers);",
        "std::vector<int*> v; lci::buffer(v);",
        r"no matching function|constraints"),
    "a buffer of what is no bytes": (
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
        r"await_ready|no viable|no match"),
    "a task that nobody awaits": (
        "co_await answer();",
        "answer();",
        r"nodiscard|unused"),
    "several of which one does not post": (
        "co_await lci::when_all(lci::post_send_x(1, lci::buffer(numbers), 0, comp));",
        "co_await lci::when_all(lci::barrier_x());",
        r"no matching function|constraint"),
    "a task with a result, spawned": (
        "lci::scheduler s; s.spawn([]() -> lci::task<> { co_return; }());",
        "lci::scheduler s; s.spawn(answer());",
        r"could not convert|no viable|cannot convert|no matching"),
}

# Forms that look unusual but are right: a kept functor, changed in place.
KEPT = """
  auto post = lci::post_send_x(1, buffer, 8, 0, comp);
  if (buffer) post.device(device);
  post.tag(7).user_context(buffer);
  auto copy = post;
  auto moved = lci::progress_x().device(device);
  copy.call();
  moved();
  post();
"""


class Compile(unittest.TestCase):
    def test_there_is_a_compiler(self):
        self.assertIn("g++", COMPILERS)

    def test_controls_compile(self):
        program = "".join(framed(control, f"use_{i}")
                          for i, (control, _, _) in enumerate(MISTAKES.values()))
        for compiler in COMPILERS:
            with self.subTest(compiler=compiler):
                result = compile_text(compiler, program, *STRICT, "-fsyntax-only")
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_mistakes_are_found(self):
        cases = [(c, name) for c in COMPILERS for name in MISTAKES]

        def attempt(case):
            return compile_text(case[0], framed(MISTAKES[case[1]][1]), *STRICT, "-fsyntax-only")

        with ThreadPoolExecutor(2) as pool:
            for (compiler, name), result in zip(cases, pool.map(attempt, cases)):
                with self.subTest(compiler=compiler, mistake=name):
                    self.assertNotEqual(result.returncode, 0, "the mistake was not found")
                    self.assertRegex(result.stderr, MISTAKES[name][2])

    def test_controls_of_cpp20_compile(self):
        program = "".join(FRAME_20.format(name=f"use_{i}", statement=control)
                          if i == 0 else self.only_function(f"use_{i}", control)
                          for i, (control, _, _) in enumerate(MISTAKES_20.values()))
        for compiler in COMPILERS:
            with self.subTest(compiler=compiler):
                result = compile_text(compiler, program, *STRICT_20, "-fsyntax-only")
                self.assertEqual(result.returncode, 0, result.stderr)

    @staticmethod
    def only_function(name, statement):
        text = FRAME_20.format(name=name, statement=statement)
        return text[text.index("lci::task<> " + name):]

    def test_mistakes_of_cpp20_are_found(self):
        cases = [(c, name) for c in COMPILERS for name in MISTAKES_20]

        def attempt(case):
            text = FRAME_20.format(name="use", statement=MISTAKES_20[case[1]][1])
            return compile_text(case[0], text, *STRICT_20, "-fsyntax-only")

        with ThreadPoolExecutor(2) as pool:
            for (compiler, name), result in zip(cases, pool.map(attempt, cases)):
                with self.subTest(compiler=compiler, mistake=name):
                    self.assertNotEqual(result.returncode, 0, "the mistake was not found")
                    self.assertRegex(result.stderr, MISTAKES_20[name][2])

    def test_cpp20_says_what_it_needs(self):
        for compiler in COMPILERS:
            with self.subTest(compiler=compiler):
                result = compile_text(compiler, "#include <lci/cpp20.hpp>\n", *STRICT,
                                      "-fsyntax-only")
                self.assertNotEqual(result.returncode, 0)
                self.assertIn("needs C++20", result.stderr)

    def test_a_functor_may_be_kept_and_changed(self):
        for compiler in COMPILERS:
            with self.subTest(compiler=compiler):
                result = compile_text(compiler, framed(KEPT), *STRICT,
                                      "-fsyntax-only")
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_all_published_names_exist(self):
        files = sorted((SOURCE / "tests/api").glob("v2_*.cpp"))
        self.assertEqual(len(files), 5)
        for compiler in COMPILERS:
            for path in files:
                with self.subTest(compiler=compiler, file=path.name):
                    result = compile_text(compiler, path.read_text(), *STRICT, "-fsyntax-only")
                    self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    unittest.main()
