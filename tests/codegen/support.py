"""Finds the source tree, so that the generator and the description can be imported."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
sys.path.insert(0, str(ROOT))
