"""The library exports the functions of ccs.h and nothing else, and needs only LCI, the language and the system."""

import os
import re
import unittest

from library_exports import WARNINGS_OF_CASTS, LibraryExports, complaints, include


class Exports(LibraryExports, unittest.TestCase):
    LIBRARY = os.environ["CCS_LIBRARY"]
    C_HEADERS = ("ccs.h",)

    def declared(self):
        return set(re.findall(r"^CCS_API [^;]*?\b(CCS_\w+)(?=\()", include("ccs.h"), re.M))

    def test_each_standard_registers_handlers_of_all_kinds(self):
        program = """
#include <ccs.h>
static void spread(CCS_token_t token, void* data, unsigned bytes, int a, void* b) {
  (void)token, (void)data, (void)bytes, (void)a, (void)b;
}
static void variadic(CCS_token_t token, void* data, unsigned bytes, unsigned n, ...) {
  (void)token, (void)data, (void)bytes, (void)n;
}
static int large(CCS_token_t token, size_t bytes, void** dest, size_t* count, CCS_datadesc_t* desc,
                 CCS_callback_t* done, void** arg, unsigned n, ...) {
  (void)token, (void)bytes, (void)dest, (void)count, (void)desc, (void)done, (void)arg, (void)n;
  return CCS_FAILURE;
}
int f(CCS_amhandler_t given);
int f(CCS_amhandler_t given) {
  return CCS_register_handler(0, 0, spread) + CCS_register_handler(0, 1, &variadic) +
         CCS_register_handler(0, 2, large) + CCS_register_handler(0, 3, &large) + CCS_register_handler(0, 4, given) +
         CCS_register_handler(0, 5, (CCS_amhandler_t)NULL);
}
"""
        self.assertEqual(complaints(program, os.path.join(os.environ["LCI_SOURCE"], "include")), [])

    def test_macros_cause_no_warnings_of_casts_in_cpp(self):
        program = """
#include <ccs.h>
CCS_lock_t lock = CCS_LOCK_INITIALIZER;
int f(CCS_datadesc_t given);
int f(CCS_datadesc_t given) {
  const CCS_datadesc_t builtin[] = {CCS_DATA_NULL, CCS_DATA8, CCS_DATA16, CCS_DATA32, CCS_DATA64, CCS_DATA128,
                                    CCS_DATA_LB, CCS_DATA_UB, CCS_DATA_PACKED, CCS_DATA_LAST};
  return CCS_datadesc_is_builtin(given) && (given & CCS_DATA_SIZE_MASK) == builtin[1];
}
"""
        self.assertEqual(complaints(program, os.path.join(os.environ["LCI_SOURCE"], "include"), *WARNINGS_OF_CASTS, c=()),
                         [])


if __name__ == "__main__":
    unittest.main()
