#!/bin/sh
# First program of the guest, baked into its root disk: moves the root file system into memory,
# unpacks the input disk and hands over to the init.sh found there.
#
# The kernel can only mount the NVMe disk by itself. Under -icount sleep=off the guest's clock
# jumps while it idles for a disk of the host, so everything after this script must not wait for
# one: the same image is attached as an NVDIMM, whose reads are plain memory copies.

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin

fail() {
    echo "rcp-lab: bootstrap failed: $1"
    sync
    echo 1 > /proc/sys/kernel/sysrq
    echo o > /proc/sysrq-trigger
    sleep 3600
}

mount -t proc proc /proc || exit 1
mount -t sysfs sysfs /sys || fail "mounting /sys"
mount -t devtmpfs devtmpfs /dev || fail "mounting /dev"

# Absent when the lab was started without an NVDIMM; the disk then stays the root.
modprobe -q -a nfit nd_pmem
if [ -b /dev/pmem0p1 ]; then
    mount -t ext4 -o ro /dev/pmem0p1 /mnt || fail "mounting the NVDIMM"
    for tree in proc sys dev; do
        mount --move /$tree /mnt/$tree || fail "moving /$tree"
    done
    cd /mnt || fail "entering the NVDIMM"
    pivot_root . mnt || fail "pivot_root"
    # Lazily: this very shell still runs from the old root.
    umount -l /mnt
fi

mount -t tmpfs -o mode=755 tmpfs /run || fail "mounting /run"
mkdir -p /run/rcp/in /run/rcp/out

for candidate in /sys/block/nvme*; do
    read -r serial < "$candidate/device/serial"
    [ "$serial" = rcp-in ] && tar -x -C /run/rcp/in -f "/dev/${candidate##*/}"
done
[ -f /run/rcp/in/init.sh ] || fail "no input disk"
exec /bin/sh /run/rcp/in/init.sh
