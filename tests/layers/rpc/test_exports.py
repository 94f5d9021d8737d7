"""The library exports the interface of lci/rpc.hpp and no internal symbols."""

import os
import re
import unittest

from library_exports import LibraryExports, output


class Rpc(LibraryExports, unittest.TestCase):
    LIBRARY = os.environ["RPC_LIBRARY"]
    def test_symbols_are_those_of_the_headers(self):
        lines = output("nm", "-DC", "--defined-only", self.LIBRARY).splitlines()
        names = [line.split(maxsplit=2)[2] for line in lines]
        self.assertGreater(len(names), self.FEWEST)
        interface = re.compile(r"^(?:(?:typeinfo|typeinfo name|vtable) for )?lci::rpc::")
        self.assertEqual([n for n in names if not interface.match(n)], [])
        inside = re.compile(r"lci::rpc::detail::(?:engine_core|outgoing|incoming|region|workers)::")
        self.assertEqual([n for n in names if inside.match(n)], [])

    def test_the_library_needs_only_lci_and_system_libraries(self):
        needed = re.findall(r"\(NEEDED\)\s+Shared library: \[(.+?)\]", output("readelf", "-d", self.LIBRARY))
        allowed = ("libna.so.2", "liblci.so.2", "libstdc++.so", "libgcc_s.so", "libc.so", "libm.so", "ld-linux",
                   "libpthread.so", "libasan.so", "libubsan.so", "libtsan.so")
        self.assertIn("libna.so.2", needed)
        self.assertEqual([n for n in needed if not n.startswith(allowed)], [])


if __name__ == "__main__":
    unittest.main()
