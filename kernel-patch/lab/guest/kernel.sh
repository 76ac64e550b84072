# shellcheck shell=sh
# Run inside the builder: kernel.sh STEP FLAVOUR JOBS. Its folders: /work/source is the patched
# tree, /work/FLAVOUR the build, /work/FLAVOUR-stage what the lab takes away.
step=$1 flavour=$2 jobs=$3

# Depend mode: what is not in the cache is not preprocessed first, only to look it up by its text; in
# the first build, where nothing is, that was a fifth of the time. gcc writes dependencies anyway.
export CCACHE_DIR=/work/ccache CCACHE_MAXSIZE=3G CCACHE_DEPEND=1
# Two builds of one source are one kernel.
export KBUILD_BUILD_USER=rcp KBUILD_BUILD_HOST=rcp-lab KBUILD_BUILD_VERSION=1
export KBUILD_BUILD_TIMESTAMP='Thu Jan  1 00:00:00 UTC 2026'
out=/work/$flavour stage=/work/$flavour-stage

kernel_make() {
    make -C /work/source O="$out" CC='ccache gcc' HOSTCC='ccache gcc' -j "$jobs" "$@"
}

# What bcc compiles its programs with, where it looks for it.
install_headers() {
    build=$1
    mkdir -p "$build/arch/x86"
    for tree in /work/source "$out"; do
        # Nothing of the block layer needs these, and they are a third of all.
        tar -c -C "$tree" --exclude=include/dt-bindings --exclude=include/drm \
            --exclude=include/media --exclude=include/sound --exclude=include/rdma \
            --exclude=include/config include arch/x86/include | tar -x -C "$build"
    done
}

case $step in
configure)
    mkdir -p "$out"
    kernel_make allnoconfig KCONFIG_ALLCONFIG="/work/$flavour.config"
    ;;
build)
    kernel_make bzImage modules
    rm -rf "$stage"
    mkdir -p "$stage"
    kernel_make modules_install INSTALL_MOD_PATH="$stage" INSTALL_MOD_STRIP=1
    release=$(cat "$out/include/config/kernel.release")
    rm -f "$stage/lib/modules/$release/build" "$stage/lib/modules/$release/source"
    install_headers "$stage/lib/modules/$release/build"
    cp "$out/arch/x86/boot/bzImage" "$stage/vmlinuz"
    cp "$out/.config" "$stage/config"
    echo "$release" > "$stage/release"
    "$out/usr/gen_init_cpio" -t 0 /work/initramfs.list > "$stage/initramfs.img"
    ;;
*)
    echo "kernel.sh: no step $step" >&2
    exit 1
    ;;
esac
