# shellcheck shell=sh
# Body of mmdebstrap's customize hook; $1 is the root of the builder. Unpacks the kernel's source,
# of the version and checksum that kernel-patch/BASE names (set in front of this text).

set -eu
root=$1

# shellcheck disable=SC2016 # expanded by the shell inside the builder's root
# shellcheck disable=SC2154 # version and sha256 come from BASE
chroot "$root" sh -euc '
    mkdir -p /tmp/source /work/source
    cd /tmp/source
    apt-get -o APT::Sandbox::User=root download "linux-source-6.12=$1"
    echo "$2  $(echo linux-source-*.deb)" | sha256sum -c - ||
        { echo "E: linux-source-6.12 $1 is not the file BASE names" >&2; exit 1; }
    dpkg-deb -x linux-source-*.deb .
    # Register lists of one graphics card, device trees of other architectures: 0.5 of 1.7 GB.
    tar -x -f usr/src/linux-source-6.12.tar.xz -C /work/source --strip-components=1 --wildcards \
        --exclude="*/drivers/gpu/drm/amd/include/*" --exclude="*/arch/*/boot/dts/*"
    rm -r /tmp/source
' sh "$version" "$sha256"
