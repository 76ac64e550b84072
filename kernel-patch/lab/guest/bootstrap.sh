#!/bin/sh
# The guest's first program, /init of its initramfs, run by busybox: finds root, input and output
# as NVDIMMs, unpacks the input and hands over to the init.sh found there.
#
# NVDIMMs, because reading one is a copy in memory. Under -icount sleep=off the guest's clock
# jumps while it idles for a disk of the host, each time a little differently; without such a
# disk two runs repeat to the nanosecond.

top=

fail() {
    echo "rcp-lab: bootstrap failed: $1"
    echo 1 > $top/proc/sys/kernel/sysrq
    echo o > $top/proc/sysrq-trigger
    sleep 3600
}

mount -t devtmpfs devtmpfs /dev || exit 1
exec < /dev/console > /dev/console 2>&1
mount -t proc proc /proc || fail "mounting /proc"
mount -t sysfs sysfs /sys || fail "mounting /sys"

while read -r module; do
    insmod "/modules/$module" || fail "loading $module"
done < /modules/order

# The kernel sets namespaces up in the background.
tries=0
until [ -b /dev/pmem0 ] && [ -b /dev/pmem1 ] && [ -b /dev/pmem2 ]; do
    tries=$((tries + 1))
    [ $tries -le 1000 ] || fail "waiting for the NVDIMMs"
    sleep 0.01
done

# In which order QEMU lists NVDIMMs is its own affair: the input is the one with a tar's magic,
# the root the one with ext4's, the output is empty.
for disk in /dev/pmem0 /dev/pmem1 /dev/pmem2; do
    if [ "$(dd if=$disk bs=1 skip=257 count=5 2> /dev/null)" = ustar ]; then
        input=$disk
    elif mount -t ext4 -o ro $disk /root 2> /dev/null; then
        mounted=$disk
    else
        export RCP_LAB_OUTPUT_DISK=$disk
    fi
done
if [ -z "$input" ] || [ -z "$mounted" ] || [ -z "$RCP_LAB_OUTPUT_DISK" ]; then
    fail "telling the NVDIMMs apart"
fi

mount -t tmpfs -o mode=755 tmpfs /root/run || fail "mounting /run"
mkdir -p /root/run/rcp/in /root/run/rcp/out
for tree in proc sys dev; do
    mount -o move /$tree /root/$tree || fail "moving /$tree"
done
top=/root
# Not busybox's tar: it reads on to the end of the disk, 128 MiB, which took a quarter of the boot.
chroot /root /usr/bin/tar -x -C /run/rcp/in -f "$input" || fail "unpacking the input"
[ -f /root/run/rcp/in/init.sh ] || fail "no init.sh in the input"
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin
exec /bin/switch_root /root /bin/sh /run/rcp/in/init.sh
