#!/bin/sh
# Runs in the guest, with the host's file system: configures the network with RDMA over it, and runs the host's
# command. /mnt is the run's folder on the host: it contains settings and command.sh, and gets log and status.
. /mnt/settings  # node, address, netem
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/run TMPDIR=/run LANG=C.UTF-8
cd /run
ulimit -l unlimited
ulimit -c 0
exec >/mnt/log 2>&1

hostname "guest$node"
ip link set lo up
# The link to the other guest, or else a dummy device that reaches this guest only. The frames are long enough
# for RDMA packets of 4096 bytes.
card=eth0
[ -e /sys/class/net/eth0 ] || { card=dummy0; ip link add dummy0 type dummy; }
ip link set $card mtu 4200
ip address add "$address/24" dev $card
ip link set $card up
[ -z "$netem" ] || tc qdisc add dev $card root netem $netem
rdma link add rxe0 type rxe netdev $card
# The RDMA device gets the address with some delay.
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  grep -qs ffff: /sys/class/infiniband/rxe0/ports/1/gids/* && break
  sleep 0.1
done
grep -qs ffff: /sys/class/infiniband/rxe0/ports/1/gids/* || echo "guest: rxe0 has no IPv4 address"

sh /mnt/command.sh
status=$?
dmesg >/mnt/dmesg
echo $status >/mnt/status
sync
busybox poweroff -f
