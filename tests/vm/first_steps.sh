#!/bin/busybox sh
# The guest's first process: loads the modules, makes the host's file system its root, goes on there.
# What it prints goes to the console, which the host shows if the guest does not get further.
busybox=/bin/busybox
host=/host
$busybox mount -t proc proc /proc
$busybox mount -t sysfs sysfs /sys
$busybox mount -t devtmpfs devtmpfs /dev

give_up() {
  echo "guest: $1"
  $busybox poweroff -f
}

for module in $($busybox cat /modules/order); do
  options=""
  [ "$module" = dummy.ko ] && options=numdummies=0
  $busybox insmod "/modules/$module" $options || echo "guest: can't load $module"
done

# The host's files as they are, to read; what is written goes to memory, or to the run's folder in /mnt.
files=version=9p2000.L,trans=virtio,msize=512000
$busybox mount -t 9p -o $files,cache=loose,ro host $host || give_up "no file system of the host's"
$busybox mount -t proc proc $host/proc
$busybox mount -t sysfs sysfs $host/sys
$busybox mount -t devtmpfs devtmpfs $host/dev
$busybox mkdir -p $host/dev/shm $host/dev/pts
$busybox mount -t tmpfs tmpfs $host/dev/shm
$busybox mount -t devpts devpts $host/dev/pts
$busybox ln -s /proc/self/fd $host/dev/fd
$busybox mount -t tmpfs tmpfs $host/run
$busybox mount -t tmpfs tmpfs $host/var/tmp
# Not cached: the host reads along.
$busybox mount -t 9p -o $files,cache=none run $host/mnt || give_up "no folder for what the run leaves"
exec $busybox chroot $host /bin/sh /mnt/guest.sh
