"""The probes of stacked devices. Their functions are in modules, which may come while recording."""

from __future__ import annotations

from rcp.probes.kernel.probe_type import Probe

_OF_THE_KERNEL_THREAD = (
    "on devices of that kind an io is blamed on the kernel thread that queued it below"
)

LAYER_PROBES = (
    Probe(
        "io_origin",
        "layer.bpf.c",
        "for whom stacked devices (dm, md, loop) do ios at the devices below",
        optional_functions=(
            "bio_alloc_clone",
            "bio_endio",
            "dm_submit_bio_remap",
            "crypt_endio",
            "kcryptd_crypt",
            "loop_workfn",
            "loop_rootcg_workfn",
            "vfs_fsync",
        ),
        modules={
            "dm_submit_bio_remap": "dm_mod",
            "crypt_endio": "dm_crypt",
            "kcryptd_crypt": "dm_crypt",
            "loop_workfn": "loop",
            "loop_rootcg_workfn": "loop",
        },
        without_optional=_OF_THE_KERNEL_THREAD,
        needs_any=True,
        without="ios below dm, md and loop devices are blamed on the kernel threads of these",
    ),
    Probe(
        "copy",
        "copy.bpf.c",
        "for whom dm-snapshot and dm-thin copy what is overwritten",
        optional_functions=(
            "origin_map",
            "snapshot_map",
            "start_copy",
            "process_cell",
            "get_next_mapping",
            "dm_kcopyd_prepare_callback",
            "run_io_job",
            "run_complete_job",
        ),
        modules={
            "origin_map": "dm_snapshot",
            "snapshot_map": "dm_snapshot",
            "start_copy": "dm_snapshot",
            "process_cell": "dm_thin_pool",
            "get_next_mapping": "dm_thin_pool",
            "dm_kcopyd_prepare_callback": "dm_mod",
            "run_io_job": "dm_mod",
            "run_complete_job": "dm_mod",
        },
        without_optional="some of what dm-snapshot or dm-thin copies is blamed on a kernel thread",
        needs_any=True,
        without="what dm-snapshot and dm-thin copy is blamed on a kernel thread",
        module="dm_mod",
        without_module="what dm-snapshot and dm-thin copy is blamed on a kernel thread",
    ),
    Probe(
        "stripe",
        "stripe.bpf.c",
        "for whom md reads and writes stripes of RAID 4, 5 and 6",
        optional_functions=("raid5_make_request", "handle_stripe"),
        modules={"raid5_make_request": "raid456", "handle_stripe": "raid456"},
        without_optional="ios of RAID 4, 5 and 6 are blamed on the thread of the array",
        needs_any=True,
        without="ios of RAID 4, 5 and 6 are blamed on the thread of the array",
        module="raid456",
        without_module="ios of RAID 4, 5 and 6 are blamed on the thread of the array",
    ),
)
