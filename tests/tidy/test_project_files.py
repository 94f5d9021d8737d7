"""What the files at the root, and the recipe for Spack, say of the project is so."""

import re
import types
import unittest
from unittest import mock

import tree

RECIPE = "docs/packaging/spack/package.py"


def meson_options():
    return {name: kind for name, kind in re.findall(r"^option\('(\w+)', type: '(\w+)'", tree.text("meson_options.txt"), re.M)}


def version():
    return re.search(r"version: '([\d.]+)'", tree.text("meson.build")).group(1)


class Recipe:
    """What the recipe says when Spack's directives only write down how they are called."""

    def __init__(self):
        self.said = []
        names = {"MesonPackage": type("MesonPackage", (), {})}
        for directive in ("license", "version", "variant", "depends_on", "conflicts", "requires"):
            names[directive] = lambda *args, _name=directive, **kwargs: self.said.append((_name, args, kwargs))
        module = types.ModuleType("spack.package")
        module.__dict__.update(names, __all__=list(names))
        scope = {}
        with mock.patch.dict("sys.modules", {"spack": types.ModuleType("spack"), "spack.package": module}):
            exec(compile(tree.text(RECIPE), RECIPE, "exec"), scope)
        self.package = scope["Lci"]

    def firsts(self, directive, **which):
        """The first arguments of all such directives."""
        return [args[0] for name, args, kwargs in self.said
                if name == directive and all(kwargs.get(k) == v for k, v in which.items())]


class ProjectFiles(unittest.TestCase):
    def test_the_changelog_begins_with_this_version(self):
        text = tree.text("CHANGELOG.md")
        sections = re.findall(r"^## (.+)$", text, re.M)
        self.assertEqual(sections[0], "[Unreleased]")
        self.assertEqual(re.search(r"^Version ([\d.]+),", text, re.M).group(1), version())

    def test_the_license_is_the_one_that_meson_names(self):
        self.assertIn("license: 'MIT'", tree.text("meson.build"))
        text = tree.text("LICENSE")
        self.assertTrue(text.startswith("MIT License\n"))
        self.assertRegex(text, r"Copyright \(c\) \d{4} the LCI authors\n")

    def test_suites_and_targets_that_contributing_names_are_there(self):
        text = tree.text("CONTRIBUTING.md")
        suites = {p.parent.name for p in tree.files("tests", suffixes=(".build",)) if len(p.parts) == 3}
        named = set(re.findall(r"--suite (\w+)", text))
        for arguments in re.findall(r"tests/run\.sh ([^#\n]*)", text):
            named |= {word for word in re.sub(r"--sanitize \w+", "", arguments).split() if not word.startswith("-")}
        self.assertGreater(len(named), 3)
        self.assertEqual(named - suites, set())
        tests = "".join(tree.text(p) for p in tree.files("tests", suffixes=(".build",)))
        for name in re.findall(r"meson test -C \S+ (?:--suite \w+ )*('[^']+'|\w+) ", text):
            name = name.strip("'")
            with self.subTest(test=name):
                self.assertIn(f"'{name.split()[0]}", tests)

    def test_options_of_run_sh_in_documents_exist(self):
        known = set(re.findall(r"^    (--[\w-]+)", tree.text("tests/run.sh"), re.M))
        self.assertIn("--sanitize", known)
        for path in ("CONTRIBUTING.md", "README.md"):
            for options in re.findall(r"tests/run\.sh([^#`\n]*)", tree.text(path)):
                self.assertEqual(set(re.findall(r"--[\w-]+", options)) - known, set())

    def test_links_of_the_files_at_the_root_lead_somewhere(self):
        for path in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/packaging/spack/README.md"):
            prose = re.sub(r"```.*?```", "", tree.text(path), flags=re.S)  # a lambda looks like a link
            for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", prose):
                if "://" not in link:
                    with self.subTest(file=path, link=link):
                        self.assertTrue((tree.SOURCE / path).parent.joinpath(link).exists())

    def test_the_recipe_has_the_version_and_every_option(self):
        recipe = Recipe()
        self.assertIn(version(), recipe.firsts("version"))
        self.assertEqual(recipe.firsts("license"), ["MIT"])
        features = {name for name, kind in meson_options().items() if kind == "feature"}
        self.assertGreater(len(features), 5)
        self.assertEqual(set(recipe.firsts("variant")), features)

        class Spec(set):
            pass

        package = recipe.package()
        package.run_tests = False
        package.spec = Spec(f"+{name}" for name in features if name != "mpi")
        given = dict(argument[2:].split("=") for argument in package.meson_args())
        self.assertEqual(set(given), set(meson_options()))
        self.assertEqual(given["mpi"], "disabled")
        self.assertEqual({given[name] for name in features - {"mpi"}}, {"enabled"})
        self.assertEqual(given["tests"], "false")

    def test_the_recipe_has_a_package_for_each_feature(self):
        recipe = Recipe()
        for name, kind in meson_options().items():
            if kind == "feature":
                with self.subTest(option=name):
                    self.assertTrue(recipe.firsts("depends_on", when=f"+{name}"))


if __name__ == "__main__":
    unittest.main()
