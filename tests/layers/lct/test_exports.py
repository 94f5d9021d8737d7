"""The library exports LCT_* and nothing else, and needs only LCI, the language and the system."""

import os
import re
import unittest

from library_exports import LibraryExports, include


class Exports(LibraryExports, unittest.TestCase):
    LIBRARY = os.environ["LCT_LIBRARY"]

    def declared(self):
        return set(re.findall(r"LCT_API [^;]*?\b(LCT_\w+)(?=\(|\[|;)", include("lct.h")))


if __name__ == "__main__":
    unittest.main()
