"""The library exports the functions of its headers and nothing else, and needs only LCI, the language and the system."""

import os
import pathlib
import re
import unittest

from library_exports import LibraryExports, output

HEADERS = pathlib.Path(os.environ["LCI_SOURCE"]) / "include" / "armci"


class Exports(LibraryExports, unittest.TestCase):
    LIBRARY = os.environ["ARMCI_LIBRARY"]
    FEWEST = 200
    MAY_NEED = ("libdl.so",)

    def declared(self):
        names = set()
        for header in HEADERS.glob("*.h"):
            names |= set(re.findall(r"^(?:extern )?ARMCI_API [^;]*?\b(\w+)(?=\(|;)", header.read_text(), re.M))
        return names

    def test_functions_that_programs_may_replace_are_weak(self):
        kinds = {line.split()[-1]: line.split()[-2] for line in output("nm", "-D", self.LIBRARY).splitlines()}
        twins = [name for name in kinds if name.startswith("PARMCI_")]
        self.assertGreater(len(twins), 60)
        self.assertEqual([t for t in twins if kinds[t] != "T" or kinds[t[1:]] != "W"], [])


if __name__ == "__main__":
    unittest.main()
