"""The library exports what lci.h declares and nothing else, contains nothing of the core, and the header is valid C."""

import itertools
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from library_exports import LibraryExports, include

SOURCE = os.environ["LCI_SOURCE"]

# The functions of the specification; LCI_queue_pop and the like in the spelling of the public header.
FUNCTIONS = """initialize finalize initialized device_init device_free endpoint_init endpoint_free memory_register
memory_deregister segment_serialize segment_deserialize lbuffer_alloc lbuffer_memalign lbuffer_free mbuffer_alloc
mbuffer_free get_iovec_piggy_back_size queue_create queue_free queue_pop queue_pop_multiple queue_wait
queue_wait_multiple queue_len sync_create sync_free sync_wait sync_test sync_signal handler_create plist_create
plist_free plist_get plist_decode plist_set_match plist_set_comp_type plist_set_default_comp sendl recvl sendm sendmn
recvm recvmn sends recvs sendv recvv putl putla getl putm putma putmn putmna puts putvs putva getv fence_wait
gfence_wait progress""".split()
EXTRAS = """barrier plist_set_match_type device_initx queue_createx sendmc putmac medium_free putv""".split()


class Exports(LibraryExports, unittest.TestCase):
    LIBRARY = os.environ["V1_LIBRARY"]
    FEWEST = 80

    def declared(self):
        text = re.sub(r"/\*.*?\*/", "", include("lci.h"), flags=re.S)
        names = set()
        for declaration in re.findall(r"^(?:extern )?LCI_API ([^;]*);", text, re.M):
            named = declaration.split("(")[0] if "(" in declaration else declaration
            found = re.findall(r"\b(LCI_\w+)\b(?! \w|\*)", named)
            names |= {n for n in found if n not in ("LCI_error_t", "LCI_device_t", "LCI_endpoint_t", "LCI_comp_t")}
        return names

    def test_all_functions_are_there(self):
        self.assertEqual({f"LCI_{name}" for name in FUNCTIONS + EXTRAS} - self.exported(), set())


class Header(unittest.TestCase):
    """Programs of both kinds compile without a warning."""

    PUBLIC = """
LCI_error_t (*pop)(LCI_comp_t, LCI_request_t*) = LCI_queue_pop;
LCI_error_t f(LCI_comp_t cq, LCI_request_t* r, LCI_mbuffer_t b, size_t* n) {
  return pop(cq, r) == LCI_OK && LCI_queue_pop(cq, r) == LCI_OK && LCI_queue_pop_multiple(cq, 1, r, n) == LCI_OK ?
    LCI_recvm(LCI_UR_ENDPOINT, b, LCI_RANK_ANY, 0, cq, NULL) : LCI_OK;
}
"""
    DOCUMENT = """
LCI_error_t g(LCI_comp_t cq, LCI_request_t* r, LCI_mbuffer_t b, size_t n) {
  LCI_reg_t segment = LCI_SEGMENT_ALL;
  (void)segment;
  return LCI_queue_pop(&cq, r) == LCI_OK && LCI_queue_pop_multiple(&cq, 1, r, n) == LCI_OK ?
    LCI_recvm(LCI_UR_ENDPOINT, &b, 0, 0, cq, NULL) : LCI_OK;
}
"""

    def compile(self, compiler, language, standard, text):
        if shutil.which(compiler) is None:
            self.skipTest(f"{compiler} is not installed")
        with tempfile.NamedTemporaryFile("w", suffix="." + language) as f:
            f.write(text)
            f.flush()
            done = subprocess.run([compiler, f"-std={standard}", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic",
                                   "-Werror", f"-I{SOURCE}/include", f.name], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_c(self):
        vectors = ("", "#define LCI_USE_AVX\n")
        for compiler, standard, avx in itertools.product(("gcc", "clang"), ("c99", "c11"), vectors):
            with self.subTest(compiler=compiler, standard=standard, avx=avx):
                self.compile(compiler, "c", standard, avx + "#include <lci.h>\n" + self.PUBLIC)
                self.compile(compiler, "c", standard, "#define LCI_STRICT_DOCUMENT\n" + avx + "#include <LCI.h>\n" +
                             self.DOCUMENT)
        for compiler in ("gcc", "clang"):
            self.compile(compiler, "c", "c11", "#include <lci.h>\n" + self.PUBLIC + self.DOCUMENT)

    def test_cpp(self):
        for compiler, standard in itertools.product(("g++", "clang++"), ("c++11", "c++17", "c++20")):
            with self.subTest(compiler=compiler, standard=standard):
                self.compile(compiler, "cpp", standard, "#include <lci.h>\n" + self.PUBLIC + self.DOCUMENT)


if __name__ == "__main__":
    unittest.main()
