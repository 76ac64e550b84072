# shellcheck shell=sh
# Body of mmdebstrap's customize hook; $1 is the root of the builder. Unpacks the kernel's source,
# of the version and checksum that kernel-patch/BASE names (set in front of this text).

set -eu
root=$1

# shellcheck disable=SC2154 # unpack, version and sha256 are set in front
chroot "$root" sh -euc "$unpack" sh "$version" "$sha256" ''
