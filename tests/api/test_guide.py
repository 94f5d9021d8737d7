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
MORE = {"cpp20.md": ("c++20", "lci/cpp20.hpp"), "lct.md": ("c++17", "lct.h>\n#include <lci.hpp"),
        "rpc.md": ("c++20", "lci/rpc/coroutine.hpp>\n#include <fcntl.h")}
# Pages of interfaces for C: the header, in its folder. Each block of theirs is a source of its own.
C_PAGES = {"armci.md": ("armci", "armci.h"), "lci-v1.md": (".", "lci.h"), "ccs.md": (".", "ccs.h"),
           "na.md": ("mercury", "na.h"), "mercury.md": ("mercury", "mercury.h")}
C_PRELUDE = "#include <{header}>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
# Pages that say which interface to use, and show none.
WITHOUT_CODE = {"layers.md"}
PAGES = sorted((SOURCE / "docs" / "guide").glob("*.md"))


def blocks_of(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.M | re.S)


class Guide(unittest.TestCase):
    def test_code_of_the_guide_compiles(self):
        self.assertGreaterEqual(len(PAGES), 7)
        for page in PAGES:
            if page.name in C_PAGES or page.name in WITHOUT_CODE:
                continue
            blocks = blocks_of(page, "cpp")
            self.assertTrue(blocks, f"{page.name} shows no code")
            standard, header = MORE.get(page.name, ("c++17", "lci.hpp"))
            text = PRELUDE.replace("{header}", header) + "".join(
                f'void block_{i}() {{\n#line 1 "{page.name}, block {i + 1}"\n{block}}}\n'
                for i, block in enumerate(blocks))
            with self.subTest(page=page.name):
                done = compile_text("g++", text, f"-std={standard}", "-Wall", "-Wextra", "-Werror",
                                    "-fsyntax-only")
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_code_of_the_guide_in_c_compiles(self):
        for name, (folder, header) in C_PAGES.items():
            page = SOURCE / "docs" / "guide" / name
            blocks = blocks_of(page, "c")
            self.assertTrue(blocks, f"{name} shows no code in C")
            for i, block in enumerate(blocks):
                # Readers copy a whole program: it includes what it uses.
                prelude = "" if "int main(" in block else C_PRELUDE.replace("{header}", header)
                text = f'{prelude}#line 1 "{name}, block {i + 1}"\n{block}'
                with self.subTest(page=name, block=i + 1):
                    done = compile_text("gcc", text, "-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                                        f"-I{SOURCE / 'include' / folder}", language="c")
                    self.assertEqual(done.returncode, 0, done.stderr)

    def test_links_have_targets(self):
        for page in PAGES:
            prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
            for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", prose):
                with self.subTest(page=page.name, target=target):
                    self.assertTrue((page.parent / target).exists())
