"""Size, left-over marks, preprocessor use, and the rules for atomics."""

import re
import unittest

import tree

ALL = (".cpp", ".hpp", ".h", ".c", ".py", ".sh", ".j2", ".build")
MARKS = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
# A member call that touches an atomic, with all its arguments on one line or few.
ATOMIC_CALL = re.compile(
    r"(?:\.|->)(?:load|store|exchange|fetch_add|fetch_sub|fetch_or|fetch_and|fetch_xor|"
    r"compare_exchange_weak|compare_exchange_strong|test_and_set)\s*\(")
CONDITIONAL = re.compile(r"^\s*#\s*(?:if|ifdef|ifndef)\b", re.M)


def call_arguments(code, start):
    """The text between the parentheses of the call that opens before `start`."""
    depth, at = 1, start
    while at < len(code) and depth:
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        at += 1
    return code[start:at - 1]


class Sources(unittest.TestCase):
    def test_files_are_short(self):
        long = {}
        for path in tree.files(suffixes=ALL):
            n = len(tree.text(path).splitlines())
            if n > 500:
                long[str(path)] = n
        self.assertEqual(long, {})

    def test_lines_are_at_most_120_columns_wide(self):
        """The formatter breaks code only, not comments."""
        wide = [f"{p}:{i}" for p in tree.files(suffixes=tree.CPP)
                for i, line in enumerate(tree.text(p).splitlines(), 1) if len(line) > 120]
        self.assertEqual(wide, [])

    def test_pointers_are_not_compared_with_numbers(self):
        """Whether a pointer is an object's, detail::is_object() says."""
        comparison = re.compile(r"reinterpret_cast<uintptr_t>\([^()]*\)\s*(?:[<>]=?|[=!]=)\s*[1-9]")
        found = [f"{path}: {match.group(0)}" for path in tree.files("lib", "network", "include", "codegen")
                 for match in comparison.finditer(tree.without_comments(tree.text(path)))]
        self.assertEqual(found, [])

    def test_nothing_is_marked_as_left_to_do(self):
        found = [f"{p}:{i}" for p in tree.files(suffixes=ALL)
                 for i, line in enumerate(tree.text(p).splitlines(), 1) if MARKS.search(line)]
        self.assertEqual(found, [])

    def test_conditional_compilation_is_rare(self):
        for path in tree.files("lib", "network", "include"):
            n = len(CONDITIONAL.findall(tree.text(path)))
            with self.subTest(path=str(path)):
                self.assertLessEqual(n, 4)

    def test_every_atomic_access_names_its_memory_order(self):
        wrong, seen = [], 0
        for path in tree.files("lib", "network"):
            code = tree.without_comments(tree.text(path))
            for match in ATOMIC_CALL.finditer(code):
                arguments = call_arguments(code, match.end())
                if not arguments and "exchange" in match.group(0):
                    continue  # a function of that name: an atomic's takes a value
                seen += 1
                if "memory_order" in arguments or "order" in arguments.split(",")[-1]:
                    continue
                line = code[:match.start()].count("\n") + 1
                wrong.append(f"{path}:{line}")
        self.assertGreater(seen, 20)
        self.assertEqual(wrong, [])

    def test_atomics_are_not_used_as_plain_variables(self):
        """`++counter_` or `flag_ = true` on an atomic is an access without an order. Looks at
        members of classes: their names end in an underscore."""
        declaration = re.compile(r"(?:std::atomic|Atom)\s*<[^;{}()]*?>\s+(\w+_)\s*(?:\{|;|=|\[)")
        wrong = []
        for path in tree.files("lib", "network"):
            code = tree.without_comments(tree.text(path))
            for name in set(declaration.findall(code)):
                use = re.compile(r"(?:\+\+|--)" + name + r"\b|\b" + name + r"(?:\+\+|--)|"
                                 r"(?<![\w.>])" + name + r"\s*(?:[-+|&^]=|=(?!=))\s*[^{]")
                for match in use.finditer(code):
                    line = code[:match.start()].count("\n") + 1
                    start = code.rfind("\n", 0, match.start()) + 1
                    if declaration.search(code[start:code.find("\n", match.end())]):
                        continue
                    wrong.append(f"{path}:{line}: {match.group(0)}")
        self.assertEqual(wrong, [])

    def test_there_are_no_standalone_fences(self):
        wrong = [str(p) for p in tree.files("lib", "network")
                 if re.search(r"\b(?:atomic_thread_fence|atomic_signal_fence|__sync_synchronize)\b",
                              tree.without_comments(tree.text(p)))]
        self.assertEqual(wrong, [])

    def test_each_file_begins_by_saying_what_it_is(self):
        silent = [str(p) for p in tree.files("include", "lib", "network")
                  if p.suffix in (".hpp", ".h") and not tree.text(p).startswith(("//", "/*"))]
        self.assertEqual(silent, [])

    def test_an_observed_network_hands_on_all_that_a_device_can_do(self):
        """One that were missing would be the contract's default instead of the fabric's own."""
        contract = tree.without_comments(tree.text("network/fabric.hpp"))
        device = contract[contract.index("class device {"):contract.index("class external_peer_book")]
        methods = set(re.findall(r"virtual [^;{(~]*?(\w+)\(", device))
        self.assertGreater(len(methods), 8)
        for path in ("lib/core/observe/observed_network.hpp", "network/routed/with_outside_device.hpp"):
            handed_on = set(re.findall(r"(\w+)\([^;{]*\)(?: const)? override", tree.without_comments(tree.text(path))))
            self.assertEqual(methods - handed_on, set(), path)

    def test_sinks_that_stand_before_the_core_hand_on_all_events(self):
        """One that were missing would be the contract's default, which does nothing."""
        contract = tree.without_comments(tree.text("network/fabric.hpp"))
        sink = contract[contract.index("class event_sink {"):contract.index("class device {")]
        events = {name for name in re.findall(r"virtual void (on_\w+)\(", sink)}
        self.assertGreater(len(events), 5)
        for path in ("lib/core/observe/observed_network.cpp", "network/routed/device.cpp"):
            handed_on = set(re.findall(r"void (on_\w+)\([^;{]*\) override", tree.without_comments(tree.text(path))))
            self.assertEqual(events - handed_on, set(), path)


if __name__ == "__main__":
    unittest.main()
