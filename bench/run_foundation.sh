#!/usr/bin/env bash
# Builds, measures everything that bench/RESULTS.md shows, and writes that file. Takes about ten
# minutes on two idle cores. Options are those of bench/measure.py, e.g. --repeat 7.
set -euo pipefail
cd "$(dirname "$0")/.."
bash tests/run.sh --build-only
python3 bench/measure.py "$@" -o build/release/figures.json
python3 bench/report.py build/release/figures.json -o bench/RESULTS.md
cat bench/RESULTS.md
