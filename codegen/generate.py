#!/usr/bin/env python3
"""Generates LCI's API from the description in api_dsl/. The build calls it; by hand:

    /usr/bin/python3 codegen/generate.py --out-include build/include --out-src build/src

writes build/include/lci/{attributes,handles,operations}.hpp and build/src/generated/*, and

    /usr/bin/python3 codegen/generate.py --docs docs/reference.md

rewrites the checked-in reference. Files whose text has not changed are not written. With --check
nothing is written, and the exit status says whether all named files are up to date."""

import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from api_dsl import armci, ccs  # noqa: E402
from codegen import render  # noqa: E402: needs the path
from codegen.model import Model, ModelError  # noqa: E402

INCLUDE = ("attributes.hpp", "handles.hpp", "operations.hpp")
SOURCE = ("core_operations.hpp", "resolve.cpp", "options.cpp", "getters.cpp", "enums.cpp")
TESTS = ("functors.cpp",)


def outputs(args, model):
    """(path, text) of each requested file."""
    def rendered(folder, names):
        return [(pathlib.Path(folder) / n, render.template(n + ".j2", model)) for n in names]

    files = []
    if args.out_include:
        files += rendered(pathlib.Path(args.out_include) / "lci", INCLUDE)
    if args.out_src:
        files += rendered(pathlib.Path(args.out_src) / "generated", SOURCE)
    if args.out_tests:
        files += rendered(args.out_tests, TESTS)
    if args.out_misuse:
        files += rendered(args.out_misuse, ("misuse.cpp",))
    if args.out_armci:
        files.append((pathlib.Path(args.out_armci) / "armci_operations.hpp",
                      render.template("armci_operations.hpp.j2", model, operations=armci.OPERATIONS)))
    if args.out_ccs:
        files.append((pathlib.Path(args.out_ccs) / "operations.hpp",
                      render.template("ccs_operations.hpp.j2", model, operations=ccs.OPERATIONS)))
    if args.docs:
        files.append((pathlib.Path(args.docs), render.template("reference.md.j2", model)))
    if args.api_json:
        files.append((pathlib.Path(args.api_json), render.api_json(model)))
    return files


def write_if_changed(path, text):
    if path.exists() and path.read_text() == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return True


def depfile_text(target):
    """The dependencies of the output: the Python modules of this repository and all templates."""
    used = [m.__file__ for m in list(sys.modules.values()) if getattr(m, "__file__", None)]
    own = {p for p in (pathlib.Path(f).resolve() for f in used) if ROOT in p.parents}
    own |= set(render.TEMPLATES.glob("*.j2")) | {pathlib.Path(__file__).resolve()}
    return f"{target}: " + " ".join(str(p).replace(" ", "\\ ") for p in sorted(own)) + "\n"


def parse(argv):
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out-include", metavar="DIR", help="public headers, below DIR/lci")
    p.add_argument("--out-src", metavar="DIR", help="internal files, below DIR/generated")
    p.add_argument("--out-tests", metavar="DIR", help="tests of the functors")
    p.add_argument("--out-misuse", metavar="DIR", help="cases of misuse, for tests/misuse")
    p.add_argument("--out-armci", metavar="DIR", help="the C++ operations of ARMCI")
    p.add_argument("--out-ccs", metavar="DIR", help="the C++ operations of CCS")
    p.add_argument("--docs", metavar="FILE", help="the reference, as Markdown")
    p.add_argument("--api-json", metavar="FILE", help="the whole model, for other programs")
    p.add_argument("--depfile", metavar="FILE", help="dependencies, as make writes them")
    p.add_argument("--depfile-target", metavar="FILE",
                   help="left-hand side in the depfile (default: the first file written)")
    p.add_argument("--check", action="store_true", help="write nothing; fail if a file is stale")
    return p.parse_args(argv)


def main(argv=None):
    args = parse(argv)
    from api_dsl import API
    try:
        model = Model(API)
    except ModelError as error:
        print(f"api_dsl is not sound:\n{error}", file=sys.stderr)
        return 1
    files = outputs(args, model)
    if args.check:
        stale = [str(path) for path, text in files
                 if not path.exists() or path.read_text() != text]
        for path in stale:
            print(f"{path} is stale: run codegen/generate.py with the same arguments, without "
                  "--check", file=sys.stderr)
        return 1 if stale else 0
    for path, text in files:
        write_if_changed(path, text)
    if args.depfile:
        target = args.depfile_target or str(files[0][0])
        pathlib.Path(args.depfile).write_text(depfile_text(target))
    return 0


if __name__ == "__main__":
    sys.exit(main())
