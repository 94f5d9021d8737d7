#!/usr/bin/env bash
# Counts the k-mers of real reads with LCI (threads; a process for each core) and with MPI, in turns, and
# prints a table. Options are those of bench/kmer/kmer.py, e.g. --repeat 7, --help.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/release
[ -f $build/build.ninja ] || bash tests/run.sh --build-only
targets=(lib/tools/lcirun/lcirun bench/lci_perf examples/kmer_count)
for mpi in mpich openmpi; do
  grep -q "^build bench/kmer/kmer_count_$mpi:" $build/build.ninja && targets+=("bench/kmer/kmer_count_$mpi")
done
ninja -C $build --quiet "${targets[@]}"
for word in "$@"; do
  case "$word" in --help|-h) exec python3 bench/kmer/kmer.py --help ;; esac
done
file=$(python3 bench/kmer/kmer.py "$@" | tail -n 1)
python3 bench/compare_report.py "$file" | tee "${file%.json}.md"
