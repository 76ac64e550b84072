"""Run the disk model's KUnit tests as a user-space program, without a patched kernel.

`python -m rcp.lab.kunit` prints their results and the model's latency curves.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from rcp.lab import cache, debian, module, rootfs, series
from rcp.lab.errors import KernelError, LabError
from rcp.lab.progress import Progress
from rcp.lab.sources import find_checkout, kernel_patch

# The C library's own headers include these, so they are not replaced.
_REAL_HEADERS = ("linux/errno.h", "linux/limits.h", "linux/stddef.h")
_INCLUDE = re.compile(r"^#include <(\S+)>$", re.MULTILINE)
# The sanitizers find what KASAN and UBSAN would find in the kernel, within a second.
_COMPILE = (
    "gcc -std=gnu11 -O2 -g -Wall -Werror -fsanitize=address,undefined "
    "-fno-sanitize-recover=all -I headers -I sources -o tests sources/rcpdisk_test.c"
)


def _write_stub_headers(sources: Path, headers: Path) -> None:
    # Each kernel header that the sources include becomes a stub that includes kunit.h.
    for path in sources.glob("*.[ch]"):
        for name in set(_INCLUDE.findall(path.read_text())) - set(_REAL_HEADERS):
            (headers / name).parent.mkdir(parents=True, exist_ok=True)
            (headers / name).write_text('#include "kunit.h"\n')
    (headers / "kunit.h").write_bytes(rootfs.guest_file("kunit.h"))


def run(checkout: Path, progress: Progress) -> tuple[int, str]:
    """Compile and run the tests of *checkout*; return their exit status and output.

    Raises RootfsError if the compiler cannot be installed, KernelError if they do not compile.
    """
    builder = module.ensure_builder(rootfs.ensure(checkout, progress).release, progress)
    with cache.locked(f"{builder.name}.work"):
        work = builder / "tree" / "kunit"
        shutil.rmtree(work, ignore_errors=True)
        (work / "series").mkdir(parents=True)
        folder = module.FOLDERS["rcpdisk"]
        patches = kernel_patch(checkout) / "patches"
        shutil.move(series.extract(patches, folder, work / "series"), work / "sources")
        _write_stub_headers(work / "sources", work / "headers")
        steps = (f"cd /kunit && {_COMPILE}", "exec /kunit/tests")
        for step in steps:
            command = debian.inside(builder / "tree", step)
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if step == steps[0] and done.returncode != 0:
                raise KernelError(f"the model's tests do not compile:\n{done.stderr.rstrip()}")
        shutil.rmtree(work)
    return done.returncode, done.stderr


if __name__ == "__main__":
    try:
        status, text = run(find_checkout(), Progress())
    except LabError as error:
        sys.exit(f"rcp-lab: error: {error}")
    print(text, end="")
    sys.exit(status)
