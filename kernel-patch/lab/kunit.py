"""The disk model's KUnit tests as a program, for hosts without a patched kernel.

`python -m rcp.lab.kunit` prints their results and the model's curves.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from rcp.lab import cache, debian, module, rootfs, series
from rcp.lab.errors import KernelError, LabError
from rcp.lab.progress import Progress
from rcp.lab.wheel import find_checkout

# The C library's own headers are made of these.
_GENUINE = ("linux/errno.h", "linux/limits.h", "linux/stddef.h")
_INCLUDE = re.compile(r"^#include <(\S+)>$", re.MULTILINE)
# Sanitizers: what KASAN and UBSAN would say in the kernel, in a second.
_COMPILE = (
    "gcc -std=gnu11 -O2 -g -Wall -Werror -fsanitize=address,undefined "
    "-fno-sanitize-recover=all -I headers -I sources -o tests sources/rcpdisk_test.c"
)


def _stand_ins(sources: Path, headers: Path) -> None:
    # Every kernel header the sources ask for is kunit.h under another name.
    for path in sources.glob("*.[ch]"):
        for name in set(_INCLUDE.findall(path.read_text())) - set(_GENUINE):
            (headers / name).parent.mkdir(parents=True, exist_ok=True)
            (headers / name).write_text('#include "kunit.h"\n')
    (headers / "kunit.h").write_bytes(rootfs.guest_file("kunit.h"))


def run(checkout: Path, progress: Progress) -> tuple[int, str]:
    """Compile and run the tests of *checkout*; return their exit status and what they printed.

    Raises RootfsError when the compiler cannot be had, KernelError when they do not compile.
    """
    builder = module.ensure_builder(rootfs.ensure(progress).release, progress)
    with cache.locked(f"{builder.name}.work"):
        work = builder / "tree" / "kunit"
        shutil.rmtree(work, ignore_errors=True)
        (work / "series").mkdir(parents=True)
        folder = module.FOLDERS["rcpdisk"]
        patches = checkout / "kernel-patch" / "patches"
        shutil.move(series.extract(patches, folder, work / "series"), work / "sources")
        _stand_ins(work / "sources", work / "headers")
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
