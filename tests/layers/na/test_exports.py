"""The library exports the functions of na.h and nothing else, and needs only LCI, the language and the system."""

import os
import re
import unittest

from library_exports import LibraryExports, include


class Exports(LibraryExports, unittest.TestCase):
    LIBRARY = os.environ["NA_LIBRARY"]
    FEWEST = 30

    def declared(self):
        return set(re.findall(r"NA_EXPORT [^;]*?\b(NA_\w+)(?=\()", include("mercury", "na.h")))


if __name__ == "__main__":
    unittest.main()
