# shellcheck shell=sh
# Run inside the builder: module.sh RELEASE NAME. Compiles the sources in /work/NAME against the
# headers of the kernel RELEASE.
release=$1 name=$2

export KBUILD_BUILD_USER=rcp KBUILD_BUILD_HOST=rcp-lab
config=CONFIG_BLK_DEV_$(echo "$name" | tr '[:lower:]' '[:upper:]')
make -C "/usr/src/linux-headers-$release" M="/work/$name" "$config=m" modules
strip --strip-debug "/work/$name/$name.ko"
