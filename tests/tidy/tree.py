"""The files of the source tree, and what the tidy tests ask of them."""

import os
import pathlib
import re

SOURCE = pathlib.Path(os.environ.get("LCI_SOURCE", pathlib.Path(__file__).parents[2]))
BUILD = pathlib.Path(os.environ.get("LCI_BUILD", SOURCE / "build" / "release"))
CPP = (".cpp", ".hpp", ".h", ".c")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.M)


def files(*folders, suffixes=CPP):
    """Files below folders (of the root if none), as paths relative to the root, sorted."""
    roots = [SOURCE / f for f in folders] or [p for p in SOURCE.iterdir()
                                             if p.is_dir() and not p.name.startswith(".")
                                             and not p.name.startswith("build")]
    found = (p for root in roots for p in root.rglob("*"))
    return sorted(p.relative_to(SOURCE) for p in found
                  if p.is_file() and p.suffix in suffixes and "__pycache__" not in p.parts)


def relative(folder, path):
    """A path that is meant from a folder, as a path relative to the root of the tree."""
    return (pathlib.Path(folder) / path).resolve().relative_to(SOURCE.resolve())


def text(path):
    return (SOURCE / path).read_text()


def includes(path):
    """(quote, name) of each include directive."""
    return INCLUDE.findall(text(path))


def without_comments(source):
    """The code with comments and string contents blanked; lines stay where they are."""
    def blank(match):
        s = match.group(0)
        if s.startswith("/"):
            return re.sub(r"[^\n]", " ", s)
        return s[0] + " " * (len(s) - 2) + s[-1]

    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"'
    return re.sub(pattern, blank, source, flags=re.S)
