"""libmercury and libmercury_util export the functions that their headers declare, and no other symbols. They depend
on no other libraries than they should."""

import os
import re
import unittest

from library_exports import LibraryExports, complaints, include, output

# A declaration: the macro that marks exported functions, and the function's name, up to the semicolon.
FUNCTION = r"{} [^;]*?\b(\w+)(?=\()[^;{{]*;"


def functions(mark, *headers):
    return {name for h in headers for name in re.findall(FUNCTION.format(mark), include("mercury", h))}


class Mercury(LibraryExports, unittest.TestCase):
    LIBRARY = os.environ["MERCURY_LIBRARY"]
    C_HEADERS = ("mercury/mercury.h", "mercury/mercury_bulk.h", "mercury/mercury_proc.h", "mercury/mercury_thread_pool.h")
    NEEDS = "libna.so.2"

    def test_headers_with_macros_of_variable_arguments_compile_in_old_languages(self):
        folder = os.path.join(os.environ["LCI_SOURCE"], "include", "mercury")
        for header in "na_error.h", "mercury_error.h", "mercury_macros.h", "mercury_stubs.h", "mercury_callback.h":
            with self.subTest(header=header):
                self.assertEqual(complaints(f"#include <{header}>\n", folder, c=("c89",), cpp=("c++98",)), [])

    def declared(self):
        return functions("HG_EXPORT", "mercury.h", "mercury_bulk.h", "mercury_callback.h", "mercury_checksum.h",
                         "mercury_handler.h", "mercury_proc.h", "mercury_proc_string.h", "mercury_string_object.h",
                         "mercury_stubs.h")


class Utilities(LibraryExports, unittest.TestCase):
    LIBRARY = os.environ["MERCURY_UTIL_LIBRARY"]
    FEWEST = 25  # functions that the headers declare: fewer mean that FUNCTION does not match them

    def declared(self):
        return functions("HG_UTIL_EXPORT", "mercury_hash_table.h", "mercury_request.h", "mercury_thread.h", "mercury_thread_condition.h", "mercury_thread_mutex.h",
                         "mercury_thread_pool.h", "mercury_time.h")

    def test_the_library_needs_only_lci_and_system_libraries(self):
        needed = re.findall(r"\(NEEDED\)\s+Shared library: \[(.+?)\]", output("readelf", "-d", self.LIBRARY))
        self.assertEqual([n for n in needed if n.startswith(("liblci", "libna", "libmercury"))], [])


if __name__ == "__main__":
    unittest.main()
