#!/usr/bin/env bash
# Installs what is missing, builds, runs the tests, and says how many test cases passed.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'TEXT'
bash tests/run.sh [SUITE...] [OPTION...]

Builds into build/<kind> and runs the named suites (all of them if none is named).
The last line is "N passed, N failed, N skipped"; the exit status is 0 only without failures.

  --sanitize address   build and run with AddressSanitizer, leak and undefined-behaviour checks
  --sanitize thread    build and run with ThreadSanitizer
  --without SUITE      leave a suite out; `variants` are conformance tests with other settings
  --long               tests with random input try ten times as much (LCI_TESTS_LONG=1 in their environment), sweeps
                       try each fault, and conformance runs whole where a part of it runs otherwise
  --debug              without optimisation (default: release)
  --clang              compile with clang++ (default: g++, or $CXX)
  --build-only         stop before the tests
  --no-install         do not look for missing packages
  --list               the suites and their tests
  --help               this text
TEXT
}

kind=release buildtype=release sanitize=none list=no build_only=no install=yes compiler=""
suites=() without=()
while [ $# -gt 0 ]; do
  case "$1" in
    --sanitize)
      [ $# -ge 2 ] || { echo "run.sh: --sanitize takes address or thread" >&2; exit 2; }
      sanitize="$2"; shift ;;
    --sanitize=*) sanitize="${1#*=}" ;;
    --without)
      [ $# -ge 2 ] || { echo "run.sh: --without takes a suite" >&2; exit 2; }
      without+=("$2"); shift ;;
    --release) kind=release buildtype=release ;;
    --long) export LCI_TESTS_LONG=1 ;;
    --debug) kind=debug buildtype=debug ;;
    --clang) compiler=clang++ ;;
    --build-only) build_only=yes ;;
    --no-install) install=no ;;
    --list) list=yes ;;
    --help|-h) usage; exit 0 ;;
    -*) echo "run.sh: unknown option $1" >&2; usage >&2; exit 2 ;;
    *) suites+=("$1") ;;
  esac
  shift
done

optimization=()
left_out=()   # suites that a kind of build does not run: SUITE=REASON
case "$sanitize" in
  none) b_sanitize=none ;;
  address) kind=address b_sanitize=address,undefined ;;
  thread) kind=thread b_sanitize=thread ;;
  *) echo "run.sh: --sanitize takes address or thread, not $sanitize" >&2; exit 2 ;;
esac
if [ "$sanitize" != none ]; then
  # Reports need the lines of the source and no more: with -g1 this compiles twice as fast as with -O2 -g.
  buildtype=debugoptimized optimization=(-Doptimization=1 -Ddebug=false -Dcpp_args=-g1)
  for s in perf bench codegen tidy package support; do
    left_out+=("$s=says nothing about a build with a sanitizer")
  done
  left_out+=("vm=emulated processors are too slow for a build with a sanitizer")
fi
if [ -n "$compiler" ]; then export CXX=$compiler CC=clang; kind=$kind-clang; fi

# --- packages: what the build needs, then what some tests need (they skip without) ---
needed=(g++ meson ninja-build python3 python3-jinja2 catch2 pkg-config libcli11-dev zlib1g-dev)
wanted=(clang clang-format clang-tidy valgrind libabsl-dev libfftw3-dev jellyfish sqlite3 git bowtie2-examples unicycler-data mpich libmpich-dev openmpi-bin libopenmpi-dev libpmix-dev libssl-dev slurmctld slurmd slurm-client munge libmunge-dev libpmi2-0 binutils file cmake libfabric-dev libibverbs-dev ibverbs-providers iproute2 nftables
  libglobalarrays-dev libscalapack-mpich-dev libscalapack-openmpi-dev gfortran
  libhwloc-dev libucx-dev nlohmann-json3-dev openssh-client openssh-server gdb gdbserver man-db zsh fish)
for_vm=(qemu-system-x86 busybox-static cpio kmod iproute2 ibverbs-providers)
if [ $install = yes ] && command -v dpkg-query >/dev/null; then
  must=$(bash tests/missing_packages.sh "${needed[@]}")
  may=$(bash tests/missing_packages.sh "${wanted[@]}" "${for_vm[@]}")
  if [ -n "$must$may" ]; then
    root=""
    if [ "$(id -u)" != 0 ]; then
      command -v sudo >/dev/null && sudo -n true 2>/dev/null && root="sudo -n"
    fi
    if [ "$(id -u)" = 0 ] || [ -n "$root" ]; then
      echo "installing:" $must $may
      export DEBIAN_FRONTEND=noninteractive
      log=$(mktemp)
      $root apt-get -qq update >"$log" 2>&1 || true
      # One at a time where all together fail: one that can't be had must not keep the others out.
      $root apt-get -qq install -y --no-install-recommends $must $may >>"$log" 2>&1 ||
        for p in $must $may; do
          $root apt-get -qq install -y --no-install-recommends "$p" >>"$log" 2>&1 ||
            echo "  could not install $p"
        done
      # Programs called mpicc and mpirun stay MPICH's, whatever came last.
      for link in mpi:mpicc mpirun:mpirun; do
        [ -x "/usr/bin/${link#*:}.mpich" ] &&
          $root update-alternatives --set "${link%:*}" "/usr/bin/${link#*:}.mpich" >>"$log" 2>&1 || true
      done
      still=$(bash tests/missing_packages.sh "${needed[@]}")
      if [ -n "$still" ]; then
        tail -n 20 "$log" >&2
        echo "run.sh: still missing:" $still >&2
        exit 1
      fi
      rm -f "$log"
    elif [ -n "$must" ]; then
      echo "run.sh: missing packages; as root: apt-get install" $must $may >&2
      exit 1
    else
      echo "not installed (some tests will skip):" $may
    fi
  fi
fi

# --- build ---
build=build/$kind
if [ ! -f "$build/build.ninja" ]; then
  rm -rf "$build"
  meson setup "$build" --buildtype=$buildtype "${optimization[@]+"${optimization[@]}"}" -Db_sanitize=$b_sanitize \
    --werror -Db_lundef=$([ $b_sanitize = none ] && echo true || echo false) >"/tmp/lci-setup.$$" 2>&1 || {
    cat "/tmp/lci-setup.$$" >&2; rm -f "/tmp/lci-setup.$$"; exit 1; }
  rm -f "/tmp/lci-setup.$$"
fi
[ $list = yes ] && { meson test -C "$build" --list --no-rebuild; exit 0; }
# Some suites alone need only their own programs, which meson builds; what is installed needs all.
case " ${suites[*]-} " in
  "  "|*" package "*) ninja -C "$build" --quiet; rebuild=(--no-rebuild) ;;
  *) rebuild=() ;;
esac
if [ $build_only = yes ]; then ninja -C "$build" --quiet; exit 0; fi

# --- run ---
export ASAN_OPTIONS="exitcode=66:detect_leaks=1:strict_string_checks=1:${ASAN_OPTIONS:-}"
export UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1:${UBSAN_OPTIONS:-}"
export TSAN_OPTIONS="second_deadlock_stack=1:exitcode=66:${TSAN_OPTIONS:-}"
export PYTHONDONTWRITEBYTECODE=1
log=run
arguments=(-C "$build" "${rebuild[@]+"${rebuild[@]}"}" --logbase $log --print-errorlogs)
longer=1   # than tests may take in a plain build
if [ $sanitize = address ]; then longer=4; fi
if [ $sanitize = thread ]; then longer=8; fi
case "${LCI_TESTS_LONG:-0}" in 0) ;; *) longer=$((longer * 10)) ;; esac
arguments+=(--timeout-multiplier $longer)
summary=()
if [ "${LCI_TESTS_LONG:-0}" = 0 ]; then
  arguments+=(--no-suite long)
  summary+=(--left-out "long=run by --long")
fi
for s in "${without[@]+"${without[@]}"}"; do
  arguments+=(--no-suite "$s")
  summary+=(--left-out "$s=left out by --without")
done
if [ ${#suites[@]} -gt 0 ]; then
  for s in "${suites[@]}"; do arguments+=(--suite "$s"); done
else
  for s in "${left_out[@]+"${left_out[@]}"}"; do
    arguments+=(--no-suite "${s%%=*}")
    summary+=(--left-out "$s")
  done
fi
rm -f "$build/meson-logs/$log.json"
meson test "${arguments[@]}" || true   # the summary decides, by the cases
python3 tests/support/summary.py "$build/meson-logs/$log.json" "${summary[@]+"${summary[@]}"}"
