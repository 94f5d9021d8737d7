"""Compiling small pieces of C++ against the public headers, with each available compiler."""

import atexit
import functools
import os
import pathlib
import shutil
import subprocess
import tempfile

SOURCE = pathlib.Path(os.environ["LCI_SOURCE"])
GENERATED = os.environ["LCI_GENERATED"]  # folder that has lci/operations.hpp
COMPILERS = [c for c in ("g++", "clang++") if shutil.which(c)]
STRICT = ("-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror")
INCLUDES = (f"-I{SOURCE}", f"-I{SOURCE / 'include'}", f"-I{GENERATED}")


def compile_text(compiler, text, *options, language="c++"):
    """The finished process of compiling `text`."""
    return subprocess.run([compiler, *options, *INCLUDES, "-x", language, "-"], input=text, capture_output=True,
                          text=True, timeout=120)


@functools.lru_cache(maxsize=None)
def precompiled(compiler, header, *options):
    """Options that include the public header as a precompiled one: for many texts that differ in a line."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lci-api-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    first = folder / "first.hpp"
    first.write_text(f"#include <{header}>\n")
    output = folder / ("first.pch" if compiler == "clang++" else "first.hpp.gch")
    subprocess.run([compiler, *options, *INCLUDES, "-x", "c++-header", str(first), "-o", str(output)], check=True,
                   timeout=120)
    return ("-include-pch", str(output)) if compiler == "clang++" else ("-Winvalid-pch", "-include", str(first))
