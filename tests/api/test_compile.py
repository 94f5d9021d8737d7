"""What compiles and what does not. Each mistake has a control that differs from it in the mistake only, and that must
compile: otherwise the test would prove nothing."""

import unittest
from concurrent.futures import ThreadPoolExecutor

from compiling import COMPILERS, SOURCE, STRICT, compile_text, precompiled

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


# name: (control, mistake, the compilers' error for the mistake)
MISTAKES = {
    "another handle as completion object": (
        "lci::post_send(1, buffer, 8, 0, comp);",
        "lci::post_send(1, buffer, 8, 0, device);",
        r"could not convert|no viable conversion|no known conversion"),
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
        "lci::graph_add_node_op(comp, lci::get_rank_me_x());",
        r"a node must be a functor"),
}

# Unusual but valid forms: a functor that is kept and changed in place.
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
    def test_a_compiler_is_available(self):
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

        headers = {c: precompiled(c, "lci.hpp", *STRICT) for c in COMPILERS}

        def attempt(case):
            return compile_text(case[0], framed(MISTAKES[case[1]][1]), *STRICT, *headers[case[0]], "-fsyntax-only")

        with ThreadPoolExecutor(2) as pool:
            for (compiler, name), result in zip(cases, pool.map(attempt, cases)):
                with self.subTest(compiler=compiler, mistake=name):
                    self.assertNotEqual(result.returncode, 0, "the mistake was not found")
                    self.assertRegex(result.stderr, MISTAKES[name][2])

    def test_a_functor_may_be_kept_and_changed(self):
        for compiler in COMPILERS:
            with self.subTest(compiler=compiler):
                result = compile_text(compiler, framed(KEPT), *STRICT,
                                      "-fsyntax-only")
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_all_published_names_exist(self):
        files = sorted((SOURCE / "tests/api").glob("v2_*.cpp"))
        self.assertEqual(len(files), 6)
        for compiler in COMPILERS:
            for path in files:
                with self.subTest(compiler=compiler, file=path.name):
                    result = compile_text(compiler, path.read_text(), *STRICT, "-fsyntax-only")
                    self.assertEqual(result.returncode, 0, result.stderr)

    def test_programs_without_exceptions_and_rtti_compile(self):
        program = framed("".join(control for control, _, _ in MISTAKES.values()))
        for compiler in COMPILERS:
            with self.subTest(compiler=compiler):
                result = compile_text(compiler, program, *STRICT, "-fno-exceptions", "-fno-rtti", "-fsyntax-only")
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_another_language_or_an_older_standard_gets_an_error_that_names_the_remedy(self):
        for compiler in COMPILERS:
            for language, option, remedy in (("c", "-std=c11", "compile this file as C++"),
                                             ("c++", "-std=c++14", "compile with -std=c++17")):
                with self.subTest(compiler=compiler, language=language, option=option):
                    result = compile_text(compiler, "#include <lci.hpp>\n", option, "-fsyntax-only", language=language)
                    self.assertNotEqual(result.returncode, 0)
                    self.assertIn(remedy, result.stderr)


if __name__ == "__main__":
    unittest.main()
