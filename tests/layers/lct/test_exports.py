"""The library exports LCT_* and nothing else, and needs only LCI, the language and the system."""

import os
import re
import unittest

from library_exports import LibraryExports, complaints, include


class Exports(LibraryExports, unittest.TestCase):
    LIBRARY = os.environ["LCT_LIBRARY"]
    C_HEADERS = ("lct.h",)

    def declared(self):
        return set(re.findall(r"LCT_API [^;]*?\b(LCT_\w+)(?=\(|\[|;)", include("lct.h")))

    def test_the_header_serves_old_and_new_languages(self):
        program = """
#include <lct.h>
typedef struct { long a; char pad[LCT_CACHE_LINE]; long b; } both;
LCT_ASSERT_DIFF_CACHE_LINE(both, a, b);
int main(void) {
  int value = 0;
  LCT_dict_str_int_t dict[] = {{"one", 1}, {NULL, 0}};
  LCT_ASSERT_DIFF_CACHE_LINE(both, a, b);
  LCT_init();
  LCT_Assert(LCT_log_ctx_default, LCT_str_int_search(dict, 1, "one", 0, &value), "%d", value);
  LCT_Warn(LCT_log_ctx_default, "%d", value);
  LCT_Log(LCT_log_ctx_default, LCT_LOG_INFO, "tag", "no arguments");
  LCT_DBG_Assert(LCT_log_ctx_default, value == 1, "%d", value);
  LCT_fina();
  return 0;
}
"""
        self.assertEqual(complaints(program, os.path.join(os.environ["LCI_SOURCE"], "include")), [])


if __name__ == "__main__":
    unittest.main()
