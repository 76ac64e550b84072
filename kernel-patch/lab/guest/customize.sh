# shellcheck shell=sh
# Body of mmdebstrap's customize hook; $1 is the root of the guest. Installs the stock Debian
# kernel and its headers by unpacking the very same packages instead of configuring them: the
# guest compiles no modules and has an initramfs of its own, so udev, initramfs-tools and gcc,
# which the packages would pull in (300 MB), have nothing to do there.

set -eu
root=$1

image=$(chroot "$root" apt-cache depends --important linux-image-cloud-amd64 |
    sed -n 's/^ *Depends: *\(linux-image-[0-9][^ ]*\).*/\1/p' | head -n 1)
# A run repeats only on one kernel: the one that kernel-patch/BASE names, while Debian serves it.
# shellcheck disable=SC2154 # linux is set in front of this text
same=$(echo "$image" | sed "s/^linux-image-[0-9.]*/linux-image-$linux/")
[ -z "$(chroot "$root" apt-cache madison "$same")" ] || image=$same
release=${image#linux-image-}
[ -n "$release" ] || { echo "no linux-image-cloud-amd64 in the archive" >&2; exit 1; }

mkdir "$root/tmp/kernel"
# shellcheck disable=SC2016 # expanded by the shell inside the guest's root
chroot "$root" sh -euc '
    cd /tmp/kernel
    apt-get -o APT::Sandbox::User=root download "$@"
    for package in *.deb; do
        dpkg-deb -x "$package" /
        dpkg-deb -W --showformat="\${Package} \${Version}\n" "$package" >> /boot/kernel-packages
    done
' sh "$image" "linux-headers-$release" "linux-headers-${release%-cloud-amd64}-common"
rm -r "$root/tmp/kernel"
chroot "$root" depmod "$release"

# postgresql-17 comes with a cluster, 40 MB that differ from build to build; scenarios make theirs.
rm -rf "$root/var/lib/postgresql/17" "$root/etc/postgresql/17" "$root/var/log/postgresql"/*

echo rcp-lab > "$root/etc/hostname"
echo '127.0.0.1 localhost rcp-lab' > "$root/etc/hosts"

# The initramfs: busybox, bootstrap.sh, and the modules without which there is no NVDIMM.
# shellcheck disable=SC2016 # expanded by the shell inside the guest's root
chroot "$root" sh -euc '
    mkdir -p /tmp/initramfs/bin /tmp/initramfs/modules
    cd /tmp/initramfs
    mkdir dev proc sys root
    cp /usr/bin/busybox bin
    for name in dd sh mount mkdir insmod sleep chroot switch_root; do ln -s busybox bin/$name; done
    mv /usr/sbin/rcp-bootstrap init
    chmod 755 init
    modprobe -S "$1" -a --show-depends nfit nd_pmem | while read -r insmod path _; do
        [ "$insmod" = insmod ] || continue
        module=${path##*/}
        module=${module%.xz}
        [ ! -e "modules/$module" ] || continue
        case $path in *.xz) xz -dc "$path" ;; *) cat "$path" ;; esac > "modules/$module"
        echo "$module" >> modules/order
    done
    find . -exec touch -h -d @0 {} +
    find . | LC_ALL=C sort | cpio -o -H newc --reproducible --quiet > /boot/initramfs.img
    cd / && rm -r /tmp/initramfs
' sh "$release"
