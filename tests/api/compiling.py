"""Compiling small pieces of C++ against the public headers, with each available compiler."""

import os
import pathlib
import shutil
import subprocess

SOURCE = pathlib.Path(os.environ["LCI_SOURCE"])
GENERATED = os.environ["LCI_GENERATED"]  # folder that has lci/operations.hpp
COMPILERS = [c for c in ("g++", "clang++") if shutil.which(c)]
STRICT = ("-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror")


def compile_text(compiler, text, *options):
    """The finished process of compiling `text`."""
    return subprocess.run(
        [compiler, *options, f"-I{SOURCE}", f"-I{SOURCE / 'include'}", f"-I{GENERATED}",
         "-x", "c++", "-"], input=text, capture_output=True, text=True, timeout=120)
