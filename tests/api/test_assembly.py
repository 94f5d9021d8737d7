"""What a call site of a functor compiles to: one call, no jump, few instructions. Optional arguments must cost stores
and nothing else. Functors with an inlined fast path have tests, and no more calls than they need."""

import re
import unittest

from compiling import COMPILERS, compile_text

SITES = {
    "recv": "lci::post_recv_x(rank, buffer, size, tag, comp).device(device)"
            ".matching_policy(lci::matching_policy_t::tag_only)()",
    "stored": "lci::post_send_x(rank, buffer, size, tag, comp).device(device)"
              ".comp_semantic(lci::comp_semantic_t::remote)()",
    "get": "lci::post_get_x(rank, buffer, 64, comp, 0, rmr).device(device)()",
    "pop": "lci::cq_pop(comp)",
}
LIMIT = 45  # instructions; an argument is one store, 20 of them, and the frame
# Words of mapped memory are moved in place: tests, a load, a store, and the call for all else.
WORDS = {
    "put": "lci::post_put_x(rank, buffer, 8, comp, 0, rmr).device(device)().is_done()",
    "get": "lci::post_get_x(rank, buffer, 8, comp, 0, rmr).device(device)().is_done()",
    "add": "lci::post_atomic_x(rank, lci::atomic_op_t::add, buffer, buffer, comp, 0, rmr)"
           ".device(device)().is_done()",
}
WORD_LIMIT = 110
# Messages, words with a signal, progress: tests, one call for the fast path, and one for all other cases.
MESSAGES = {
    "send": "lci::post_send_x(rank, buffer, size, tag, comp).device(device)().is_done()",
    "am": "lci::post_am_x(rank, buffer, size, comp, 3).tag(tag).device(device)().is_done()",
    "recv": "lci::post_recv_x(rank, buffer, size, tag, comp).device(device)().is_done()",
    "put": "lci::post_put_x(rank, buffer, size, comp, 0, rmr).device(device).remote_comp(2)().is_done()",
    "progress": "lci::progress_x().device(device)().is_done()",
}
MESSAGE_LIMIT = 130

FLAGS = ("-std=c++17", "-O2", "-S", "-o", "-", "-fno-stack-protector", "-fcf-protection=none",
         "-Wno-unused-parameter", "-Wno-return-type-c-linkage")


def program(sites):
    return "#include <lci.hpp>\n" + "".join(
        f'extern "C" auto site_{name}(int rank, void* buffer, size_t size, lci::tag_t tag, '
        f"lci::comp_t comp,\n    lci::device_t device, lci::rmr_t rmr) {{ return {call}; }}\n"
        for name, call in sites.items())


def instructions(assembly, name):
    body = re.search(rf"^site_{name}:[^\n]*\n(.*?)^\s*\.cfi_endproc", assembly, re.M | re.S).group(1)
    lines = (line.split("#")[0].strip() for line in body.splitlines())
    return [line for line in lines if line and not line.startswith(".") and not line.endswith(":")]


class Assembly(unittest.TestCase):
    def each(self, sites):
        """Each site by each compiler: which it is, and its instructions."""
        for compiler in COMPILERS:
            result = compile_text(compiler, program(sites), *FLAGS)
            self.assertEqual(result.returncode, 0, result.stderr)
            for name in sites:
                yield f"{name} by {compiler}", instructions(result.stdout, name)

    def test_a_call_site_has_stores_and_one_call(self):
        for site, code in self.each(SITES):
            with self.subTest(site):
                jumps = [i for i in code if i.startswith("j")]
                # A plain function may end in a jump to what it calls.
                calls = [i for i in code if i.startswith("call")]
                tail = [i for i in jumps if re.match(r"jmp\s+_ZN3lci", i)]
                self.assertEqual(jumps, tail)
                self.assertEqual(len(calls) + len(tail), 1, code)
                self.assertLessEqual(len(code), LIMIT, code)

    def test_a_call_site_for_a_word_calls_only_for_memory_that_is_not_mapped(self):
        for site, code in self.each(WORDS):
            with self.subTest(site):
                self.assertEqual(len([i for i in code if i.startswith("call")]), 1, code)
                self.assertLessEqual(len(code), WORD_LIMIT, code)

    def test_a_call_site_for_a_message_has_two_calls(self):
        for site, code in self.each(MESSAGES):
            with self.subTest(site):
                self.assertEqual(len([i for i in code if i.startswith("call")]), 2, code)
                self.assertLessEqual(len(code), MESSAGE_LIMIT, code)

    def test_the_test_detects_jumps(self):
        text = ('extern "C" int site_x(int* p) { if (p[0] > 3) { p[1] = 7; __builtin_trap(); } '
                "return p[2]; }")
        result = compile_text("g++", text, "-O2", "-S", "-o", "-")
        self.assertTrue([i for i in instructions(result.stdout, "x") if i.startswith("j")])


if __name__ == "__main__":
    unittest.main()
