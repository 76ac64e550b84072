"""Reasons for waits for memory and for the right to use a CPU.

Whoever allocates memory may have to free some first. What the kernel waits for meanwhile (pages
being written, a page's lock, a timer) is not what the task wants, so these reasons go by functions
further out on the stack (``contexts``): the innermost one decides.
"""

from __future__ import annotations

from rcp.analyzer.arrays.reason import Reason

MEMORY_REASONS = (
    Reason(
        name="reclaim",
        may_time_out=True,
        contexts={
            "mm/page_alloc.c": ("__alloc_pages_direct_reclaim",),
            "mm/vmscan.c": ("try_to_free_pages", "throttle_direct_reclaim"),
        },
        functions={"mm/vmscan.c": ("reclaim_throttle",)},
    ),
    Reason(
        name="memcg_limit",
        may_time_out=True,
        contexts={
            "mm/vmscan.c": ("try_to_free_mem_cgroup_pages",),
            "mm/memcontrol.c": ("mem_cgroup_handle_over_high",),
            "mm/memcontrol-v1.c": ("mem_cgroup_oom_synchronize",),
        },
    ),
    Reason(
        name="compaction",
        may_time_out=True,
        contexts={"mm/compaction.c": ("try_to_compact_pages", "compact_zone")},
    ),
    Reason(name="swap_in", contexts={"mm/memory.c": ("do_swap_page",)}),
    Reason(name="swap_out", contexts={"mm/page_io.c": ("swap_writepage",)}),
    Reason(
        name="mmap_lock",
        is_exclusive=True,
        callers={
            "mm/memory.c": ("lock_mm_and_find_vma", "__access_remote_vm"),
            # Static functions may be inlined into the ones after them.
            "arch/x86/mm/fault.c": ("do_user_addr_fault", "exc_page_fault"),
            "mm/util.c": ("vm_mmap_pgoff",),
            "mm/mmap.c": ("__do_sys_brk", "__x64_sys_brk", "__vm_munmap"),
            "mm/mprotect.c": ("do_mprotect_pkey",),
            "mm/madvise.c": ("do_madvise",),
            "mm/mremap.c": ("__do_sys_mremap", "__x64_sys_mremap"),
            "mm/gup.c": ("__gup_longterm_locked", "get_user_pages_unlocked"),
            "kernel/fork.c": ("dup_mmap", "dup_mm"),
        },
    ),
)
