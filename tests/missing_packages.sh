#!/usr/bin/env bash
# missing_packages.sh PACKAGE...: prints those that are not installed for this machine's architecture, one a line.
# Needs dpkg. A package may be installed for other architectures as well, or for them only: dpkg-query prints a line for
# each, and those that are not native do not help a build.
set -euo pipefail

native=$(dpkg --print-architecture)
for package in "$@"; do
  states=$(dpkg-query -W -f='${db:Status-Status} ${Architecture}\n' "$package" 2>/dev/null) || states=""
  grep -qxE "installed ($native|all)" <<<"$states" || echo "$package"
done
