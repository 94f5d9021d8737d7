"""Installs into a temporary prefix and uses what is there as a user would."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

BUILD = os.environ.get("LCI_BUILD", "build/release")
HERE = pathlib.Path(__file__).parent


def run(*command, **kwargs):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=120,
                          **kwargs)


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.prefix = pathlib.Path(tempfile.mkdtemp(prefix="lci-install-"))
        cls.addClassCleanup(shutil.rmtree, cls.prefix)
        staged = run("meson", "install", "-C", BUILD, "--no-rebuild",
                     "--destdir", cls.prefix / "stage")
        if staged.returncode:
            raise RuntimeError(staged.stdout + staged.stderr)
        # The tree below the configured prefix, e.g. usr/local.
        cls.root = next(p.parent for p in (cls.prefix / "stage").rglob("include") if p.is_dir())
        cls.pc = next(cls.root.rglob("lci.pc"))
        cls.library = next(cls.root.rglob("liblci.so"))
        cls.env = dict(os.environ, PKG_CONFIG_PATH=str(cls.pc.parent),
                       LD_LIBRARY_PATH=str(cls.library.parent))
        cls.consumer = cls.prefix / "consumer"
        cls.build(HERE / "consumer.cpp", cls.consumer)

    @classmethod
    def build(cls, source, program):
        flags = run("pkg-config", "--cflags", "--libs", "lci",
                    f"--define-variable=prefix={cls.root}", env=cls.env)
        if flags.returncode:
            raise RuntimeError(flags.stderr)
        built = run(os.environ.get("CXX", "g++"), "-std=c++17", "-Wall", "-Wextra", "-Werror",
                    source, *flags.stdout.split(), "-o", program)
        if built.returncode:
            raise RuntimeError(built.stderr)

    def test_the_tools_are_installed_and_answer(self):
        for tool in ("lcirun", "lci_info", "lci_perf"):
            with self.subTest(tool=tool):
                path = self.root / "bin" / tool
                self.assertTrue(path.is_file(), f"no {path}")
                answer = run(path, "--help", env=self.env)
                self.assertEqual(answer.returncode, 0, answer.stderr)
                self.assertIn(tool, answer.stdout)

    def test_headers_are_installed_the_generated_ones_too(self):
        include = self.root / "include"
        for name in ("lci.hpp", "lci/types.hpp", "lci/attributes.hpp", "lci/handles.hpp",
                     "lci/operations.hpp", "lci/completion.hpp", "lci/errors.hpp"):
            self.assertTrue((include / name).is_file(), f"no {name}")
        inner = [p for p in include.rglob("*") if p.is_file() and ("core_" in p.name
                                                                    or "lib" in p.parts)]
        self.assertEqual(inner, [])

    def test_pkg_config_knows_the_version(self):
        version = run("pkg-config", "--modversion", "lci", env=self.env)
        self.assertRegex(version.stdout, r"^\d+\.\d+\.\d+$")

    def test_a_program_built_against_it_runs_alone(self):
        ran = run(self.consumer, env=self.env)
        self.assertEqual((ran.returncode, ran.stdout), (0, "rank 0 of 1 got 100 from 0\n"),
                         ran.stderr)

    def test_a_program_built_against_it_runs_under_the_launcher(self):
        ran = run(self.root / "bin" / "lcirun", "-n", "2", self.consumer, env=self.env)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("rank 0 of 2 got 101 from 1", ran.stdout)
        self.assertIn("rank 1 of 2 got 100 from 0", ran.stdout)

    def test_the_program_in_the_readme_builds_and_runs(self):
        text = (HERE.parent.parent / "README.md").read_text()
        source, ring = self.prefix / "ring.cpp", self.prefix / "ring"
        source.write_text(text.split("```cpp\n", 1)[1].split("```", 1)[0])
        self.build(source, ring)
        ran = run(self.root / "bin" / "lcirun", "-n", "3", ring, env=self.env)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(sorted(line for line in ran.stdout.splitlines()),
                         [f"rank {r} of 3 has {(r + 2) % 3} from rank {(r + 2) % 3}"
                          for r in range(3)])


if __name__ == "__main__":
    unittest.main()
