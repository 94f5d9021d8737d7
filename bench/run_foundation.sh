#!/usr/bin/env bash
# Builds, measures the first sections of bench/RESULTS.md, up to "All others", and writes them. Takes about ten
# minutes on two idle cores. Options are those of bench/measure.py, e.g. --repeat 7.
set -euo pipefail
cd "$(dirname "$0")/.."
for option in "$@"; do
  if [[ $option == -h || $option == --help ]]; then exec python3 bench/measure.py --help; fi
done
bash tests/run.sh --build-only
python3 bench/measure.py "$@" -o build/release/figures.json
python3 bench/report.py build/release/figures.json -o bench/RESULTS.md
cat bench/RESULTS.md
