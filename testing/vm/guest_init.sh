#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# First program of the guest, in its initramfs: loads the modules, lays a writable memory file
# system over the host's root, and goes there. When a step fails the kernel panics, and QEMU ends.
set -eu
export PATH=/guest # The programs of busybox.

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
while read -r module; do
  insmod "/modules/$module"
done </modules/order

mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=loose,ro root /lower
mount -t tmpfs -o size=75% tmpfs /upper
mkdir /upper/files /upper/work
mount -t overlay -o lowerdir=/lower,upperdir=/upper/files,workdir=/upper/work overlay /root

for directory in proc sys dev; do
  mount --move /$directory /root/$directory
done
mkdir /root/dev/pts /root/dev/shm
mount -t devpts devpts /root/dev/pts
mount -t tmpfs tmpfs /root/dev/shm
# What udev does elsewhere.
ln -s /proc/self/fd /root/dev/fd
ln -s fd/0 /root/dev/stdin
ln -s fd/1 /root/dev/stdout
ln -s fd/2 /root/dev/stderr

mount -t tmpfs tmpfs /root/run
mkdir /root/run/guest /root/run/job
mount --bind /guest /root/run/guest
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=none job /root/run/job
exec chroot /root /run/guest/busybox sh /run/guest/main
