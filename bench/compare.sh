#!/usr/bin/env bash
# LCI and its peers side by side: installs them, builds, measures in turns, writes tables and plots.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'TEXT'
bash bench/compare.sh [OPTION...]

Measures LCI beside MPICH, Open MPI (its own transports, and over UCX), UCX, libfabric and OpenSHMEM,
and writes bench/results/DATE-HOST.json with every launch, a table (.md) and plots (.svg); a full
run counts the k-mers of bench/kmer.sh, too, compares ARMCI with ARMCI-MPI, and puts the tables into
bench/RESULTS.md (not with --output). It takes about half an hour on two idle cores.

  --quick         short rounds, two launches, into build/release/compare: shows that everything runs
  --armci         only ARMCI and Global Arrays beside ARMCI-MPI
  --only NAME     only figures whose name contains NAME, into build/release/compare; may be repeated
  --repeat N      launches of each configuration (default 5; with --quick 2)
  --list          the figures and their configurations
  --output DIR    where to write, instead of the above
  --no-install    do not look for missing packages
  --help          this text

Two of the JSON files are compared by: python3 bench/compare.py OLD NEW
TEXT
}

command="bash bench/compare.sh $*"
full=yes armci=no install=yes output="" list=no arguments=()
while [ $# -gt 0 ]; do
  case "$1" in
    --quick) full=no; arguments+=("$1") ;;
    --armci) full=no armci=only ;;
    --only|--repeat|--output)
      [ $# -ge 2 ] || { echo "compare.sh: $1 takes a value" >&2; exit 2; }
      case "$1" in
        --only) full=no; arguments+=("$1" "$2") ;;
        --repeat) arguments+=("$1" "$2") ;;
        --output) output="$2" ;;
      esac
      shift ;;
    --list) list=yes ;;
    --no-install) install=no ;;
    --help|-h) usage; exit 0 ;;
    *) echo "compare.sh: unknown option $1" >&2; usage >&2; exit 2 ;;
  esac
  shift
done

if [ $list = yes ]; then exec python3 bench/compare_run.py --list; fi

# --- packages: the peers, and what draws ---
packages=(nlohmann-json3-dev mpich libmpich-dev openmpi-bin libopenmpi-dev libucx-dev libfabric-dev
          libglobalarrays-dev libscalapack-mpich-dev gfortran python3-matplotlib)
missing=()
if command -v dpkg-query >/dev/null; then
  mapfile -t missing < <(bash tests/missing_packages.sh "${packages[@]}")
  root=none
  if [ "$(id -u)" = 0 ]; then
    root=""
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    root="sudo -n"
  fi
  if [ ${#missing[@]} -gt 0 ] && [ $install = yes ] && [ "$root" != none ]; then
    echo "installing: ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    $root apt-get -qq update >/dev/null 2>&1 || true
    for p in "${missing[@]}"; do  # one that can't be had must not keep the others out
      $root apt-get -qq install -y --no-install-recommends "$p" >/dev/null 2>&1 ||
        echo "  could not install $p"
    done
    # Programs called mpicc and mpirun stay MPICH's, whatever came last.
    for link in mpi:mpicc mpirun:mpirun; do
      [ -x "/usr/bin/${link#*:}.mpich" ] &&
        $root update-alternatives --set "${link%:*}" "/usr/bin/${link#*:}.mpich" >/dev/null 2>&1 || true
    done
  elif [ ${#missing[@]} -gt 0 ]; then
    echo "not installed; as root: apt-get install ${missing[*]}"
  fi
fi

# --- build ---
build=build/release
if [ ! -f $build/build.ninja ]; then
  bash tests/run.sh --build-only
elif [ ${#missing[@]} -gt 0 ]; then
  meson configure --clearcache $build >/dev/null  # to look for what has come since
  meson setup --reconfigure $build >/dev/null
fi
targets=(bench/lci_perf bench/start_time lib/tools/lcirun/lcirun)
for program in bench/peers/peer_{mpich,openmpi,openshmem,ucx,libfabric} examples/kmer_count \
               bench/kmer/kmer_count_{mpich,openmpi}; do
  if grep -q "^build $program:" $build/build.ninja; then targets+=("$program"); fi
done
[ $full = no ] || targets+=(armci_bench)
ninja -C $build --quiet "${targets[@]}"

# --- measure, write, draw ---
if [ $armci = only ]; then
  ninja -C $build --quiet armci_bench
  exec python3 bench/armci/armci.py --build $build
fi
results=no
if [ -z "$output" ]; then
  output=bench/results results=$full
  [ $full = yes ] || output=$build/compare
fi
mkdir -p "$output"
file="$output/$(date +%F)-$(uname -n).json"
COMPARE_COMMAND="$command" python3 bench/compare_run.py --build $build \
  "${arguments[@]+"${arguments[@]}"}" -o "$file"
files=("$file")
if [ $full = yes ] && [[ " ${targets[*]} " = *" examples/kmer_count "* ]]; then
  if python3 bench/kmer/kmer.py --build $build -o "${file%.json}-kmer.json"; then
    files+=("${file%.json}-kmer.json")
  fi
fi
python=""
for p in python3 /usr/bin/python3; do
  if [ -z "$python" ] && $p -c 'import matplotlib' 2>/dev/null; then python=$p; fi
done
if [ -n "$python" ]; then
  $python bench/compare_plot.py "$file"
else
  echo "no plots: matplotlib is missing (Debian: python3-matplotlib)"
fi
into=()
[ "$results" = no ] || into=(--into bench/RESULTS.md)
python3 bench/compare_report.py "${files[@]}" -o "${file%.json}.md" "${into[@]+"${into[@]}"}"
[ $full = no ] || python3 bench/armci/armci.py --build $build "${into[@]+"${into[@]}"}"
echo "${file%.json}.md"
