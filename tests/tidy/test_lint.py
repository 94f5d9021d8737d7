"""clang-tidy, with the checks of .clang-tidy, finds nothing in the library."""

import concurrent.futures
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

import tree

VERSION = "14"  # of Debian 12; others check more
AT_ONCE = 50    # sources in a call: most of the time is spent in headers


def sources_and_options():
    """The sources of the library in this build, and the options of the compiler that say where headers are."""
    commands = json.loads((tree.BUILD / "compile_commands.json").read_text())
    parts = [c for c in commands if "lci_core" in c["output"] and not c["file"].endswith("_pch.cc")]
    sources = []
    for part in parts:
        file = (pathlib.Path(part["directory"]) / part["file"]).resolve()
        if "unity" in file.name:
            sources += re.findall(r'^#include\s*[<"]([^">]+)[">]', file.read_text(), re.M)
        else:
            sources.append(str(file))
    words = shlex.split(parts[0]["command"])
    options = [w for w in words if w.startswith(("-I", "-D", "-isystem"))]
    return sources, options, parts[0]["directory"]


class Lint(unittest.TestCase):
    def test_the_library_has_no_findings(self):
        program = next((p for p in (f"clang-tidy-{VERSION}", "clang-tidy") if shutil.which(p)), None)
        if program is None:
            self.skipTest("clang-tidy is not installed")
        version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
        if not re.search(rf"version {VERSION}\.", version):
            self.skipTest(f"clang-tidy {VERSION} is not installed")
        sources, options, directory = sources_and_options()
        self.assertGreater(len(sources), 150)
        with tempfile.TemporaryDirectory() as folder:

            def check(number):
                part = pathlib.Path(folder) / f"part{number}.cpp"
                part.write_text("".join(f'#include "{(pathlib.Path(directory) / s).resolve()}"\n'
                                        for s in sources[number:number + AT_ONCE]))
                done = subprocess.run([program, "--quiet", f"--config-file={tree.SOURCE / '.clang-tidy'}", str(part),
                                       "--", "-std=c++20", *options], cwd=directory, capture_output=True, text=True,
                                      timeout=240)
                found = [line for line in done.stdout.splitlines() if re.search(r": (warning|error): ", line)]
                return found or ([done.stderr] if done.returncode != 0 else [])

            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                found = sorted({line for lines in pool.map(check, range(0, len(sources), AT_ONCE)) for line in lines})
        self.assertEqual(found, [])


if __name__ == "__main__":
    unittest.main()
