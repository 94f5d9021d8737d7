"""The code in docs/guide compiles."""

import re
import unittest

from compiling import SOURCE, compile_text

PRELUDE = """
#include <{header}>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>
// Declarations that the code of the guide uses.
extern int rank;
extern void* buffer;
extern size_t size;
extern lci::tag_t tag;
extern lci::device_t device;
extern lci::rcomp_t handle;
extern std::mutex one_by_one;
"""
# Pages that need more than the rest: standard and header.
MORE = {"cpp20.md": ("c++20", "lci/cpp20.hpp"), "lct.md": ("c++17", "lct.h>\n#include <lci.hpp")}
PAGES = sorted((SOURCE / "docs" / "guide").glob("*.md"))


class Guide(unittest.TestCase):
    def test_code_of_the_guide_compiles(self):
        self.assertGreaterEqual(len(PAGES), 7)
        for page in PAGES:
            blocks = re.findall(r"^```cpp\n(.*?)^```$", page.read_text(), re.M | re.S)
            self.assertTrue(blocks, f"{page.name} shows no code")
            standard, header = MORE.get(page.name, ("c++17", "lci.hpp"))
            text = PRELUDE.replace("{header}", header) + "".join(
                f'void block_{i}() {{\n#line 1 "{page.name}, block {i + 1}"\n{block}}}\n'
                for i, block in enumerate(blocks))
            with self.subTest(page=page.name):
                done = compile_text("g++", text, f"-std={standard}", "-Wall", "-Wextra", "-Werror",
                                    "-fsyntax-only")
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_links_have_targets(self):
        for page in PAGES:
            prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
            for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", prose):
                with self.subTest(page=page.name, target=target):
                    self.assertTrue((page.parent / target).exists())
