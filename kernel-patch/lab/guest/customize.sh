# shellcheck shell=sh
# Body of mmdebstrap's customize hook; $1 is the root of the guest. Installs the stock Debian
# kernel and its headers by unpacking the very same packages instead of configuring them: the
# guest boots without an initramfs and compiles no modules, so udev, initramfs-tools and gcc,
# which the packages would pull in (300 MB), have nothing to do there.

set -eu
root=$1

image=$(chroot "$root" apt-cache depends --important linux-image-cloud-amd64 |
    sed -n 's/^ *Depends: *\(linux-image-[0-9][^ ]*\).*/\1/p' | head -n 1)
release=${image#linux-image-}
[ -n "$release" ] || { echo "no linux-image-cloud-amd64 in the archive" >&2; exit 1; }

mkdir "$root/tmp/kernel"
# shellcheck disable=SC2016 # expanded by the shell inside the guest's root
chroot "$root" sh -euc '
    cd /tmp/kernel
    apt-get -o APT::Sandbox::User=root download "$@"
    for package in *.deb; do dpkg-deb -x "$package" /; done
' sh "$image" "linux-headers-$release" "linux-headers-${release%-cloud-amd64}-common"
rm -r "$root/tmp/kernel"
chroot "$root" depmod "$release"

echo rcp-lab > "$root/etc/hostname"
echo '127.0.0.1 localhost rcp-lab' > "$root/etc/hosts"
chmod 755 "$root/usr/sbin/rcp-bootstrap"
