#!/usr/bin/env bash
# Installs packages, builds LCI and runs a distributed k-mer count. A second run needs no network.
set -euo pipefail

usage() {
  cat <<'TEXT'
bash examples/quickstart.sh [--no-install]

Installs the Debian packages that are missing (as root or with sudo), builds LCI, its launcher and
the k-mer counter into build/release, and counts the k-mers of the lambda phage reads of
bowtie2-examples with two processes of two threads each. Takes a minute or two the first time.

  --no-install   only say which packages are missing
TEXT
}

install=yes
case "${1:-}" in
  "") ;;
  --no-install) install=no ;;
  -h|--help) usage; exit 0 ;;
  *) echo "quickstart.sh: unknown option $1" >&2; usage >&2; exit 2 ;;
esac

cd "$(dirname "$0")/.."
root=$PWD
build=$root/build/release
reads=/usr/share/doc/bowtie2/examples/reads
packages=(g++ meson ninja-build pkg-config python3 python3-jinja2 catch2
          libcli11-dev zlib1g-dev libabsl-dev bowtie2-examples)

step() { printf '\n== %s\n' "$*"; }
die() { printf 'quickstart.sh: %s\n' "$*" >&2; exit 1; }

log=$(mktemp)
histogram=$(mktemp)
trap 'rm -f "$log" "$histogram"' EXIT

# Runs a command quietly; prints the end of its output if it fails.
quietly() {
  "$@" >"$log" 2>&1 || { tail -n 40 "$log" >&2; die "failed: $*"; }
}

step "1. Packages: ${packages[*]}"
missing=()
if command -v dpkg-query >/dev/null; then
  mapfile -t missing < <(bash tests/missing_packages.sh "${packages[@]}")
else
  echo "This is not Debian: taking for granted that these or their like are installed."
fi
if [ ${#missing[@]} -eq 0 ]; then
  echo "All are installed."
else
  echo "Missing: ${missing[*]}"
  as_root=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
      die "neither root nor sudo: ask somebody to run: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  [ $install = yes ] || die "run without --no-install, or: apt-get install ${missing[*]}"
  # Try with the existing package lists before updating them.
  get=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y)
  "${get[@]}" install --no-install-recommends "${missing[@]}" >"$log" 2>&1 || {
    quietly "${get[@]}" update
    quietly "${get[@]}" install --no-install-recommends "${missing[@]}"
  }
  echo "Installed."
fi
[ -r "$reads/reads_1.fq.gz" ] || die "$reads/reads_1.fq.gz is missing, though bowtie2-examples is \
installed: documentation may be left out here; see path-exclude in /etc/dpkg/dpkg.cfg.d"

step "2. Build into build/release"
if [ ! -f "$build/build.ninja" ]; then
  rm -rf "$build"
  quietly meson setup "$build" --buildtype=release
fi
# A build folder that was configured before the packages were installed must look for them again.
grep -q 'examples/kmer_count:' "$build/build.ninja" || quietly meson setup --reconfigure "$build"
grep -q 'examples/kmer_count:' "$build/build.ninja" ||
  die "meson does not find what kmer_count needs: see $build/meson-logs/meson-log.txt"
SECONDS=0
quietly ninja -C "$build" examples/kmer_count lib/tools/lcirun/lcirun
echo "lcirun and kmer_count are built ($SECONDS s)."

step "3. Count k-mers of 20,000 reads of the lambda phage, 2 processes x 2 threads"
command=(build/release/lib/tools/lcirun/lcirun -n 2 build/release/examples/kmer_count
         -k 51 -t 2 "$reads/reads_1.fq.gz" "$reads/reads_2.fq.gz")
printf '%s ' "${command[@]}"
echo
"${command[@]}" >"$histogram"
[ -s "$histogram" ] || die "the histogram is empty"

step "4. The histogram: how many 51-mers occur how often (first lines of $(wc -l <"$histogram"))"
head -n 15 "$histogram"

cat <<'TEXT'

Next: build/release/examples/kmer_count --help, examples/README.md, bash tests/run.sh
TEXT
