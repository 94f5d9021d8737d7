"""A tree that `meson install` has created in a temporary folder, as users have it."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

BUILD = os.environ.get("LCI_BUILD", "build/release")
HERE = pathlib.Path(__file__).parent
SOURCE = HERE.parent.parent


def run(*command, timeout=120, **kwargs):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True,
                          timeout=timeout, **kwargs)


class InstalledCase(unittest.TestCase):
    """The class has `root` (the prefix), `folder` (to write to) and `env`, with which the installed files are found."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="lci-install-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        staged = run("meson", "install", "-C", BUILD, "--no-rebuild",
                     "--destdir", cls.folder / "stage")
        if staged.returncode:
            raise RuntimeError(staged.stdout + staged.stderr)
        # The tree below the configured prefix, e.g. usr/local.
        cls.root = next(p.parent for p in (cls.folder / "stage").rglob("include") if p.is_dir())
        cls.pc = next(cls.root.rglob("lci.pc"))
        cls.library = cls.pc.parent.parent / "liblci.so"
        if "pcfiledir" not in cls.pc.read_text():
            raise RuntimeError(f"{BUILD} keeps options from before lci.pc was relocatable: remove it")
        # Only our packages are found: a user need not have those whose headers LCI was built with.
        cls.env = dict(os.environ, PKG_CONFIG_LIBDIR=str(cls.pc.parent),
                       LD_LIBRARY_PATH=str(cls.library.parent))
        cls.env.pop("PKG_CONFIG_PATH", None)

    @classmethod
    def launch(cls, ranks, program):
        return run(cls.root / "bin" / "lcirun", "-n", ranks, program, env=cls.env)
