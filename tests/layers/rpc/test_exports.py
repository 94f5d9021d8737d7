"""The library exports the interface of lci/rpc.hpp and no internal symbols."""

import os
import re
import unittest

from library_exports import LibraryExports, output


class Rpc(LibraryExports, unittest.TestCase):
    LIBRARY = os.environ["RPC_LIBRARY"]
    NEEDS = "libna.so.2"

    def test_symbols_are_those_of_the_headers(self):
        lines = output("nm", "-DC", "--defined-only", self.LIBRARY).splitlines()
        names = [line.split(maxsplit=2)[2] for line in lines]
        self.assertGreater(len(names), self.FEWEST)
        interface = re.compile(r"^(?:(?:typeinfo|typeinfo name|vtable) for )?lci::rpc::")
        self.assertEqual([n for n in names if not interface.match(n)], [])
        inside = re.compile(r"lci::rpc::detail::(?:engine_core|outgoing|incoming|region|workers)::")
        self.assertEqual([n for n in names if inside.match(n)], [])


if __name__ == "__main__":
    unittest.main()
