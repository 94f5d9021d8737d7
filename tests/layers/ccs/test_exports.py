"""The library exports the functions of ccs.h and nothing else, and needs only LCI, the language and the system."""

import os
import re
import unittest

from library_exports import LibraryExports, include


class Exports(LibraryExports, unittest.TestCase):
    LIBRARY = os.environ["CCS_LIBRARY"]
    C_HEADERS = ("ccs.h",)

    def declared(self):
        return set(re.findall(r"CCS_API [^;]*?\b(CCS_\w+)(?=\()", include("ccs.h")))


if __name__ == "__main__":
    unittest.main()
