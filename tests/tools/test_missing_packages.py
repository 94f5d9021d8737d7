"""tests/missing_packages.sh against a package database of the test's own."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).parents[1] / "missing_packages.sh"


@unittest.skipUnless(shutil.which("dpkg-query"), "not a Debian system: there is no dpkg-query")
class MissingPackages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.native = subprocess.run(["dpkg", "--print-architecture"], check=True, capture_output=True,
                                     text=True).stdout.strip()
        self.foreign = "arm64" if self.native != "arm64" else "amd64"
        (self.folder / "info").mkdir()
        (self.folder / "arch").write_text(f"{self.native}\n{self.foreign}\n", encoding="ascii")

    def write(self, *packages):
        """Writes dpkg's database: (name, architecture, state) for each package."""
        text = "".join(f"Package: {name}\nStatus: {'install' if state == 'installed' else 'deinstall'} ok {state}\n"
                       f"Maintainer: nobody\nArchitecture: {architecture}\n"
                       f"{'Multi-Arch: same' if architecture != 'all' else 'Multi-Arch: foreign'}\n"
                       f"Version: 1.0\nDescription: {name}\n\n" for name, architecture, state in packages)
        (self.folder / "status").write_text(text, encoding="ascii")

    def missing(self, *names):
        result = subprocess.run(["bash", SCRIPT, *names], capture_output=True, text=True, timeout=60,
                                env={**os.environ, "DPKG_ADMINDIR": str(self.folder)})
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout.split()

    def test_a_package_for_this_or_for_all_architectures_is_installed(self):
        self.write(("libnative-dev", self.native, "installed"), ("python3-all", "all", "installed"))
        self.assertEqual(self.missing("libnative-dev", "python3-all"), [])

    def test_a_package_for_another_architecture_as_well_is_installed(self):
        self.write(("libboth-dev", self.native, "installed"), ("libboth-dev", self.foreign, "installed"))
        self.assertEqual(self.missing("libboth-dev"), [])

    def test_a_package_for_another_architecture_only_is_missing(self):
        self.write(("libforeign-dev", self.foreign, "installed"))
        self.assertEqual(self.missing("libforeign-dev"), ["libforeign-dev"])

    def test_an_unknown_and_a_removed_package_are_missing(self):
        self.write(("libremoved", self.native, "config-files"), ("libthere", self.native, "installed"))
        self.assertEqual(self.missing("libunknown", "libremoved", "libthere"), ["libunknown", "libremoved"])


if __name__ == "__main__":
    unittest.main()
