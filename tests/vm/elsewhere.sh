#!/bin/sh
# elsewhere.sh [ssh options] HOST COMMAND...: called by MPICH's launcher instead of ssh. Runs the command in the
# guest HOST, where a shell of several.py listens, and returns at its end.
while :; do
  case $1 in
    -*) shift ;;
    *) break ;;
  esac
done
host=$1
shift
# The other guest may start later: refused connections are repeated.
for try in $(seq 100); do
  echo "exec 2>&1 </dev/null; $*" | busybox nc "$host" 2222 && exit 0
  sleep 0.1
done
echo "elsewhere.sh: guest $host can't be reached" >&2
exit 1
