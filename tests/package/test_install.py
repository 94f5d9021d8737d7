"""Installs into a temporary prefix and checks the files."""

import os
import re
import unittest

from installed import HERE, SOURCE, InstalledCase, run


class Install(InstalledCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.consumer = cls.folder / "consumer"
        cls.build(HERE / "consumer.cpp", cls.consumer)

    @classmethod
    def build(cls, source, program):
        flags = run("pkg-config", "--cflags", "--libs", "lci", env=cls.env)
        if flags.returncode:
            raise RuntimeError(flags.stderr)
        built = run(os.environ.get("CXX", "g++"), "-std=c++17", "-Wall", "-Wextra", "-Werror",
                    source, *flags.stdout.split(), "-o", program)
        if built.returncode:
            raise RuntimeError(built.stderr)

    def test_the_tools_are_installed_and_run_wherever_the_prefix_is(self):
        env = {name: value for name, value in self.env.items() if name != "LD_LIBRARY_PATH"}
        for tool in ("lcirun", "lci_info", "lci_perf"):
            with self.subTest(tool=tool):
                path = self.root / "bin" / tool
                self.assertTrue(path.is_file(), f"no {path}")
                answer = run(path, "--help", env=env)
                self.assertEqual(answer.returncode, 0, answer.stderr)
                self.assertIn(tool, answer.stdout)

    def test_lcirun_s_manual_page_completion_and_helper_are_installed(self):
        for name in ("man/man1/lcirun.1", "bash-completion/completions/lcirun", "zsh/site-functions/_lcirun",
                     "fish/vendor_completions.d/lcirun.fish"):
            self.assertTrue((self.root / "share" / name).is_file(), f"no share/{name}")
        bound = run(self.root / "bin" / "lcirun", "-n", 1, "--bind", "core", "--report-bindings", "true", env=self.env)
        if (self.root / "libexec" / "lci" / "lcirun_topology").exists():
            self.assertEqual(bound.returncode, 0, bound.stderr)
            self.assertIn("rank 0 is bound to processor", bound.stderr)
        else:
            self.assertIn("hwloc", bound.stderr)

    def test_headers_are_installed_with_the_generated_ones(self):
        include = self.root / "include"
        for name in ("lci.hpp", "lci/types.hpp", "lci/attributes.hpp", "lci/handles.hpp",
                     "lci/operations.hpp", "lci/completion.hpp", "lci/errors.hpp", "lct.h", "lct_config.h",
                     "lci.h", "LCI.h", "lci_config.h"):
            self.assertTrue((include / name).is_file(), f"no {name}")
        inner = [p for p in include.rglob("*") if p.is_file() and ("core_" in p.name
                                                                    or "lib" in p.parts)]
        self.assertEqual(inner, [])

    def test_pkg_config_has_the_version(self):
        version = run("pkg-config", "--modversion", "lci", env=self.env)
        self.assertRegex(version.stdout, r"^\d+\.\d+\.\d+$")

    def test_a_program_built_against_the_library_runs(self):
        ran = run(self.consumer, env=self.env)
        self.assertEqual((ran.returncode, ran.stdout), (0, "rank 0 of 1 got 100 from 0\n"),
                         ran.stderr)

    def test_the_program_in_the_readme_builds_and_runs(self):
        text = (SOURCE / "README.md").read_text()
        source, ring = self.folder / "ring.cpp", self.folder / "ring"
        source.write_text(re.search(r"^```cpp\n(.*?)^```$", text, re.M | re.S).group(1))
        self.build(source, ring)
        ran = self.launch(3, ring)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(sorted(line for line in ran.stdout.splitlines()),
                         [f"rank {r} of 3 has {(r + 2) % 3} from rank {(r + 2) % 3}"
                          for r in range(3)])


if __name__ == "__main__":
    unittest.main()
