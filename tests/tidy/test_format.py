"""C++ sources are formatted as .clang-format says."""

import concurrent.futures
import re
import shutil
import subprocess
import unittest

import tree

VERSION = "14"  # of Debian 12; others format some lines differently
AT_ONCE = 40    # files in a call


class Format(unittest.TestCase):
    def test_sources_are_formatted(self):
        program = next((p for p in (f"clang-format-{VERSION}", "clang-format") if shutil.which(p)), None)
        if program is None:
            self.skipTest("clang-format is not installed")
        version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
        if not re.search(rf"version {VERSION}\.", version):
            self.skipTest(f"clang-format {VERSION} is not installed, but: {version.strip()}")
        files = [str(p) for p in tree.files()]
        self.assertGreater(len(files), 700)

        def check(some):
            return subprocess.run([program, "--dry-run", *some], cwd=tree.SOURCE, capture_output=True, text=True,
                                  check=True).stderr

        parts = [files[i:i + AT_ONCE] for i in range(0, len(files), AT_ONCE)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            said = "".join(pool.map(check, parts))
        wrong = sorted(set(re.findall(r"^(\S+?):\d+:\d+: warning", said, re.M)))
        self.assertEqual(wrong, [], "format these files: clang-format -i FILE...")


if __name__ == "__main__":
    unittest.main()
