#!/bin/busybox sh
# The guest's init process: loads the modules, makes the host's file system its root, and executes guest.sh there.
# Its output goes to the console, which the host prints if the guest fails.
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

# The host's files, read-only. Writable are file systems in memory, and the run's folder in /mnt.
files=version=9p2000.L,trans=virtio,msize=512000
$busybox mount -t 9p -o $files,cache=loose,ro host $host || give_up "can't mount the host's file system"
$busybox mount -t proc proc $host/proc
$busybox mount -t sysfs sysfs $host/sys
$busybox mount -t devtmpfs devtmpfs $host/dev
$busybox mkdir -p $host/dev/shm $host/dev/pts
$busybox mount -t tmpfs tmpfs $host/dev/shm
$busybox mount -t devpts devpts $host/dev/pts
$busybox ln -s /proc/self/fd $host/dev/fd
$busybox mount -t tmpfs tmpfs $host/run
$busybox mount -t tmpfs tmpfs $host/var/tmp
# Not cached, since the host reads the files at the same time.
$busybox mount -t 9p -o $files,cache=none run $host/mnt || give_up "can't mount the run's folder"
exec $busybox chroot $host /bin/sh /mnt/guest.sh
