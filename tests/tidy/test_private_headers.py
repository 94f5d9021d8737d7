"""Each header of the library compiles alone: a file includes what it uses, whatever was included before it."""

import concurrent.futures
import subprocess
import tempfile
import unittest

import tree
from test_lint import sources_and_options


class PrivateHeaders(unittest.TestCase):
    def test_each_header_of_the_library_compiles_alone(self):
        sources, options, directory = sources_and_options()
        # A network or launcher that this build leaves out may need headers that this machine doesn't have.
        compiled = {tree.relative(directory, s).parent for s in sources}
        headers = [h for h in tree.files("lib", "network", suffixes=(".hpp",))
                   if h.parts[:2] != ("lib", "layers") and h.parts[:2] != ("lib", "tools")
                   and compiled & {h.parent, *h.parents}]
        self.assertGreater(len(headers), 200)

        def compile_alone(header):
            with tempfile.NamedTemporaryFile("w", suffix=".cpp") as file:
                file.write(f'#include "{tree.SOURCE / header}"\n')
                file.flush()
                done = subprocess.run(["g++", "-std=c++20", "-fsyntax-only", "-w", *options, file.name], cwd=directory,
                                      capture_output=True, text=True, timeout=120)
                return header, done.stderr[:2000] if done.returncode else ""

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            failed = [f"{header}: {text}" for header, text in pool.map(compile_alone, headers) if text]
        self.assertEqual(failed, [])


if __name__ == "__main__":
    unittest.main()
