"""libna exports only the functions of na.h and those for libmercury. It depends only on LCI and system libraries."""

import os
import re
import unittest

from library_exports import LibraryExports, include


class Exports(LibraryExports, unittest.TestCase):
    LIBRARY = os.environ["NA_LIBRARY"]
    FEWEST = 30
    C_HEADERS = ("mercury/na.h",)

    def declared(self):
        with open(os.path.join(os.environ["LCI_SOURCE"], "lib/layers/na/direct.hpp")) as f:
            text = include("mercury", "na.h") + f.read()
        return set(re.findall(r"NA_EXPORT [^;]*?\b(NA_\w+)(?=\()", text))


if __name__ == "__main__":
    unittest.main()
