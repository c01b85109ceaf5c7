#!/bin/busybox sh
# The first process of a guest: mounts what a machine has, runs the tests, and ends the machine.
export PATH=/bin:/programs HOME=/
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
# As where systemd rules: a group of its own for each session, below one that counts memory.
mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo +memory > /sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/session
echo $$ > /sys/fs/cgroup/session/cgroup.procs
mkdir -p /tmp /run /var/lib /dev/shm
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /dev/shm
# Files that are no shared memory.
mkdir /files
mount -t ramfs ramfs /files
chmod 1777 /tmp /dev/shm /files
mkdir -p /run/lock
chmod 1777 /run/lock

export HUGEWISE_PROGRAMS=/programs
if [ -e /capture ]; then
  name=$(cat /capture)
  mkdir -p /tmp/hosts/own
  chmod 777 /tmp/hosts/own
  /programs/xtask capture "$name-root" --to /tmp/hosts --note "$(cat /note), as root"
  su -s /bin/sh user -c "/programs/xtask capture $name-user --to /tmp/hosts/own --note '$(cat /note), as an ordinary user'"
  mv /tmp/hosts/own/* /tmp/hosts/
  rmdir /tmp/hosts/own
  echo "guest begins hosts"
  tar -c -C /tmp/hosts . | gzip | base64
  echo "guest ends hosts"
else
  /programs/guest $(cat /expectation)
fi
echo "guest is done $?"
# The console is slow; what was written must leave before the machine ends.
sleep 1
reboot -f
