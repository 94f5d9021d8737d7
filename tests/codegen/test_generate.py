"""The generator as the build and people use it: fresh, stable and frugal output."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from support import ROOT
from api_dsl import API


def generate(*arguments):
    return subprocess.run([sys.executable, "-B", str(ROOT / "codegen/generate.py"), *arguments],
                          capture_output=True, text=True, timeout=120)


class Output(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name)
        cls.arguments = ("--out-include", cls.folder.name, "--out-src", cls.folder.name,
                         "--out-tests", cls.folder.name + "/tests",
                         "--docs", cls.folder.name + "/reference.md",
                         "--api-json", cls.folder.name + "/api.json")
        result = generate(*cls.arguments, "--depfile", cls.folder.name + "/all.d",
                          "--depfile-target", "out")
        assert result.returncode == 0, result.stderr
        cls.files = sorted(p for p in cls.path.rglob("*") if p.is_file())

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def text(self, name):
        return (self.path / name).read_text()

    def test_all_files_are_there(self):
        names = {str(p.relative_to(self.path)) for p in self.files}
        self.assertEqual(names, {
            "lci/attributes.hpp", "lci/handles.hpp", "lci/operations.hpp",
            "generated/core_operations.hpp", "generated/resolve.cpp", "generated/options.cpp",
            "generated/getters.cpp", "generated/enums.cpp", "tests/functors.cpp", "reference.md",
            "api.json", "all.d"})

    def test_unchanged_output_is_not_rewritten(self):
        stale = self.path / "lci/handles.hpp"
        right = stale.read_text()
        stale.write_text(right + "// changed\n")
        for p in self.files:
            os.utime(p, (1000, 1000))
        self.assertEqual(generate(*self.arguments).returncode, 0)
        touched = [str(p.relative_to(self.path)) for p in self.files
                   if p.stat().st_mtime != 1000]
        self.assertEqual(touched, ["lci/handles.hpp"])
        self.assertEqual(stale.read_text(), right)

    def test_check_tells_stale_files_and_writes_nothing(self):
        self.assertEqual(generate(*self.arguments, "--check").returncode, 0)
        with tempfile.TemporaryDirectory() as other:
            target = pathlib.Path(other) / "reference.md"
            result = generate("--docs", str(target), "--check")
            self.assertEqual(result.returncode, 1)
            self.assertIn("is stale", result.stderr)
            self.assertFalse(target.exists())

    def test_the_depfile_names_the_description_the_generator_and_the_templates(self):
        line = self.text("all.d")
        self.assertTrue(line.startswith("out: "))
        named = {pathlib.Path(p).resolve() for p in line.split()[1:]}
        wanted = {p for folder, kind in (("api_dsl", "*.py"), ("codegen", "*.py"),
                                         ("codegen/templates", "*.j2"))
                  for p in (ROOT / folder).glob(kind)}
        self.assertEqual(wanted - named, set())

    def test_templates_have_rendered_completely(self):
        for p in self.files:
            if p.suffix in (".hpp", ".cpp"):
                with self.subTest(file=p.name):
                    text = p.read_text()
                    self.assertNotIn("{%", text)
                    self.assertNotIn("Undefined", text)

    def test_the_machine_readable_model_has_everything(self):
        model = json.loads(self.text("api.json"))
        self.assertEqual(len(model["operations"]), len(API.operations))
        self.assertEqual(len(model["resources"]), len(API.resources))
        send = next(o for o in model["operations"] if o["name"] == "post_send")
        self.assertEqual(send["derived_from"], "post_comm")
        self.assertEqual([a["name"] for a in send["positional"]],
                         ["rank", "local_buffer", "size", "tag", "local_comp"])


class Tree(unittest.TestCase):
    def test_the_reference_is_fresh(self):
        result = generate("--docs", str(ROOT / "docs/reference.md"), "--check")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_every_variable_that_is_read_is_known(self):
        """What the library, tools, tests or examples read must bring no warning."""
        known = {v.name for v in API.variables if not v.prefix}
        known |= {f"LCI_ATTR_{a.name.upper()}" for r in API.resources for a in r.attributes}
        known |= {n for r in API.resources for a in r.attributes for n in a.variables}
        prefixes = tuple(v.name for v in API.variables if v.prefix)
        read = re.compile(r"""(?:getenv|env_text|environment_int|environ(?:\.get)?)\s*"""
                          r"""[(\[{]+\s*["'](LCI_\w+)["']""")
        unknown, seen = [], 0
        for folder in ("lib", "network", "tests", "bench", "examples"):
            for path in (ROOT / folder).rglob("*"):
                if path.suffix not in (".cpp", ".hpp", ".py"):
                    continue
                for name in read.findall(path.read_text()):
                    seen += 1
                    if name not in known and not name.startswith(prefixes):
                        unknown.append(f"{path.relative_to(ROOT)}: {name}")
        self.assertGreater(seen, 5)
        self.assertEqual(unknown, [])


if __name__ == "__main__":
    unittest.main()
