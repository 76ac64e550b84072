#!/usr/bin/env bash
# usage: kernel-patch/series.sh checkout DIR [FOLDER]   a git tree of the kernel with patches on top
#        kernel-patch/series.sh export DIR [FOLDER]     its commits, back as kernel-patch/FOLDER
#        kernel-patch/series.sh check DIR               checkpatch --strict over its commits
#
# FOLDER is patches, the default, or upstream: a series of its own, on top of the simulated disk.
# A patch is changed in such a tree (git commit --fixup, git rebase -i) and never by hand. The
# source is the builder's: run rcp-lab build first.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

die() {
    echo "series.sh: $*" >&2
    exit 2
}

# The source without patches: the builder's, with the originals of what patches touch put back.
checkout() {
    local tree=$1 cache=${RCP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rcp} work
    [[ ! -e $tree ]] || die "$tree exists already: name a new folder"
    work=$(find "$cache/lab" -maxdepth 3 -path '*/builder-*/tree/work' -type d 2>/dev/null | head -n 1)
    [[ -d $work/source ]] || die "no kernel source in $cache/lab: run rcp-lab build --kernel rcp"
    echo "==> copying the source and making a git tree of it, usually 2 minutes" >&2
    cp -r "$work/source" "$tree"
    python3 - "$work" "$tree" <<'PYTHON'
import json, pathlib, shutil, sys
work, tree = map(pathlib.Path, sys.argv[1:])
for name in json.loads((work / "touched.json").read_text()):
    original = work / "originals" / name
    (tree / name).unlink(missing_ok=True)
    if original.exists():
        shutil.copy(original, tree / name)
PYTHON
    git -C "$tree" init -q
    git -C "$tree" add -A -f
    git -C "$tree" commit -q -m "linux $(awk '$1 == "version" { print $2 }' "$here/BASE")"
    [[ $folder == patches ]] || git -C "$tree" am -q "$here"/patches/0001-*.patch
    git -C "$tree" tag base
    git -C "$tree" am -q "$here/$folder"/0*.patch
}

export_series() {
    rm -f "$here/$folder"/0*.patch
    git -C "$1" format-patch -q --no-signature --zero-commit -o "$here/$folder" base
    ls "$here/$folder"
}

check() {
    (cd "$1" && scripts/checkpatch.pl --strict --max-line-length=100 \
        --ignore FILE_PATH_CHANGES -g base..HEAD)
}

[[ $# -eq 2 || $# -eq 3 ]] || die "usage: series.sh checkout|export|check DIR [FOLDER]"
folder=${3:-patches}
[[ $folder == patches || $folder == upstream ]] || die "no such series: $folder (patches or upstream)"
case $1 in
checkout) checkout "$2" ;;
export) export_series "$2" ;;
check) check "$2" ;;
*) die "no such action: $1 (checkout, export or check)" ;;
esac
