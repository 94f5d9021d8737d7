#!/bin/sh
# elsewhere.sh [ssh options] HOST COMMAND...: what MPICH's launcher calls instead of ssh. Runs the
# command in the guest HOST, where several.py has a shell listening, until it ends.
while :; do
  case $1 in
    -*) shift ;;
    *) break ;;
  esac
done
host=$1
shift
# The other guest may start a moment later: refused connections are tried again.
for try in $(seq 100); do
  echo "exec 2>&1 </dev/null; $*" | busybox nc "$host" 2222 && exit 0
  sleep 0.1
done
echo "elsewhere.sh: guest $host can't be reached" >&2
exit 1
