# shellcheck shell=sh
# Run inside the builder: unpack.sh VERSION SHA256 ROOT. Unpacks the kernel's source to ROOT/work/source,
# and writes its version to ROOT/work/version.
#
# Debian serves a version until the next point release, or the next fix. So when VERSION is gone, the
# newest of the same Linux series is taken, whose checksum apt knows. Whether the patches apply to it
# is seen when they are applied.

set -eu
version=$1 sha256=$2 root=$3
package=linux-source-6.12

mkdir -p "$root/tmp/source" "$root/work/source"
cd "$root/tmp/source"
if apt-cache madison "$package" | cut -d '|' -f 2 | tr -d ' ' | grep -qxF "$version"; then
    apt-get -o APT::Sandbox::User=root download "$package=$version"
    echo "$sha256  $(echo "$package"_*.deb)" | sha256sum -c - ||
        { echo "E: $package $version is not the file BASE names" >&2; exit 1; }
else
    apt-get -o APT::Sandbox::User=root download "$package"
fi
dpkg-deb -f "$package"_*.deb Version > "$root/work/version"
dpkg-deb -x "$package"_*.deb .
# Register lists of one graphics card, device trees of other architectures: 0.5 of 1.7 GB.
tar -x -f "usr/src/$package.tar.xz" -C "$root/work/source" --strip-components=1 --wildcards \
    --exclude="*/drivers/gpu/drm/amd/include/*" --exclude="*/arch/*/boot/dts/*"
rm -r "$root/tmp/source"
