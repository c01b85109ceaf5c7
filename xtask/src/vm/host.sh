#!/bin/busybox sh
# The first process of a host of a fleet: mounts what a machine has, joins the network, and lets
# whoever made it run scripts, one at a time.
export PATH=/bin:/programs HOME=/
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
mkdir -p /run/lock /etc/hugewise /var/lib/hugewise
for module in $(cat /modules/order); do
  [ ! -e "/modules/$module.ko" ] || insmod "/modules/$module.ko"
done
ip link set lo up
ip address add 10.0.2.15/24 dev eth0
ip link set eth0 up
echo "guest is up"
# Not one server for all: it ignores the ends of children, and so would all that it starts.
while :; do nc -l -p 22 -e /bin/sh; done
