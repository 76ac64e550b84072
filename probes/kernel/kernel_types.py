"""C declarations of the kernel structs that the probes read, made from the running kernel's BTF.

Only the members that the probes read are declared, at their offsets in this kernel. The kernel's
headers would do, but bcc parses them three times, which took longer than the rest of compiling.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from rcp.probes.formats.btf import ARRAY, ENUM, INT, POINTER, STRUCT, UNION, Btf, BtfError, Member
from rcp.probes.kernel import module_types
from rcp.probes.kernel.features import RecordError

# Members by struct; `a.b` is a member of a member, `a[].b` of the elements of an array.
# A member that not every kernel has is guarded by RCP_HAS_struct_member in the C code.
STRUCTS: dict[str, str] = {
    "address_space": "host nrpages",
    "bio": (
        "bi_next bi_bdev bi_opf bi_iter.bi_idx bi_iter.bi_size bi_iter.bi_bvec_done bi_io_vec "
        "bi_private bi_blkg bi_flags bi_status __bi_remaining.counter"
    ),
    "bio_vec": "bv_page bv_offset",
    "blkcg": "css.cgroup",
    "blkcg_gq": "blkcg parent pd q",
    "blkcg_policy": "plid",
    "block_device": "bd_dev",
    "buffer_head": "b_blocknr b_bdev",
    "cfs_rq": "rq throttled_clock_pelt throttled_clock_pelt_time",
    "cgroup": "kn level ancestors root self.parent",
    "cgroup_root": "hierarchy_id",
    "cgroup_subsys_state": "cgroup",
    "css_set": "dfl_cgrp",
    "dentry": "d_name.name d_parent d_u.d_alias",
    "dm_bio_prison_cell": "holder",
    "dm_crypt_io": "base_bio work",
    "elevator_queue": "elevator_data",
    "file": "f_mapping f_inode",
    "file_lock": (
        "fl_start fl_end fl_list fl_owner fl_pid fl_type c.flc_list c.flc_owner c.flc_pid "
        "c.flc_type"
    ),
    "file_lock_context": "flc_flock flc_posix",
    "flock": "l_start",
    "folio": "flags mapping index memcg_data _flags_1 _folio_order",
    "gendisk": "part0",
    "inode": "i_data i_dentry.first i_flctx i_ino i_mode i_rdev i_sb",
    "io_context": "ioprio",
    "iomap_ioend": "io_inode",
    "ipv6_pinfo": "saddr",
    "jbd2_journal_handle": "h_transaction h_total_credits h_requested_credits",
    "journal_s": "j_fs_dev j_task",
    "kcopyd_job": "context master_job",
    "kernfs_node": "id name",
    "kiocb": "ki_complete ki_filp",
    "loop_device": "lo_disk rootcg_work",
    "loop_worker": "lo work",
    "md_io_acct": "orig_bio",
    "md_io_clone": "orig_bio",
    "mem_cgroup": "id css.cgroup css.parent memory.usage memory.max memory.high",
    "mm_struct": "arg_start arg_end env_end",
    "mutex": "owner",
    "page": "compound_head",
    "pid": "level numbers[].nr",
    "pt_regs": "ax bp bx cx di dx ip orig_ax r8 r9 r10 si sp",
    "rcp_queue": (
        "q inflight used_kb knobs.strict knobs.tokens knobs.token_kb knobs.token_total "
        "knobs.hold_ms"
    ),
    "request": "q bio cmd_flags start_time_ns __sector __data_len",
    "request_queue": "disk elevator rcp.last_critical_ns",
    "rq": "clock_pelt lost_idle_time",
    "rt_mutex_base": "owner",
    "rw_semaphore": "count owner",
    "sembuf": "sem_num sem_op",
    "sock": (
        "sk_type __sk_common.skc_family __sk_common.skc_num __sk_common.skc_dport "
        "__sk_common.skc_rcv_saddr __sk_common.skc_daddr __sk_common.skc_v6_rcv_saddr "
        "__sk_common.skc_v6_daddr __sk_common.skc_net"
    ),
    "stripe_head": "disks dev[].read dev[].toread dev[].towrite dev[].written",
    "super_block": "s_dev",
    "task_struct": (
        "__state cgroups comm flags io_context journal_info mm pid real_parent sched_task_group "
        "se.cfs_rq start_time tgid thread_pid"
    ),
    "task_group": "css.cgroup parent cfs_bandwidth.quota cfs_bandwidth.period",
    "throtl_grp": "bps iops",
    "transaction_s": "t_tid t_journal",
    "unix_sock": "peer",
    "vm_area_struct": "vm_file",
    "vm_fault": "vma",
    "xfs_ail": "ail_task",
    "xfs_cil": "xc_ctx xc_iclog_hdrs xc_log",
    "xfs_cil_ctx": "iclog_entry ticket",
    "xfs_inode": "i_mount",
    "xfs_mount": "m_super",
    "xfs_trans": "t_ticket",
    "xlog": "l_ailp l_cilp l_iclog_hsize l_mp",
    "xlog_op_header": "oh_tid",
    "xlog_ticket": "t_curr_res t_iclog_hdrs t_unit_res",
}
ENUMERATORS = (
    "BH_Shadow",
    "BIO_CHAIN",
    "BIO_TRACE_COMPLETION",
    "PG_head",
    "PG_locked",
    "PG_writeback",
    "REQ_OP_FLUSH",
    "REQ_OP_READ",
    "REQ_OP_WRITE",
    "__REQ_CRIT",
    "__REQ_FUA",
    "__REQ_PREFLUSH",
    "__REQ_SWAP",
)


def _integer(btf: Btf, type_id: int) -> str:
    sign = "s" if btf.kind(type_id) == INT and btf.is_signed(type_id) else "u"
    return f"{sign}{8 * btf.size_bytes(type_id)}"


def _declaration(btf: Btf, type_id: int, name: str) -> str:
    """Return a member's declaration; a struct whose members are not read is an array of bytes."""
    type_id = btf.resolve(type_id)
    kind = btf.kind(type_id)
    if kind == POINTER:
        target = btf.resolve(btf.target(type_id))
        is_struct = btf.kind(target) in (STRUCT, UNION) and btf.name(target)
        keyword = "struct" if btf.kind(target) == STRUCT else "union"
        return f"{keyword} {btf.name(target)} *{name}" if is_struct else f"void *{name}"
    if kind == ARRAY:
        array = btf.array(type_id)
        if btf.name(btf.resolve(array.type_id)) == "char":
            return f"char {name}[{array.length}]"
        return _declaration(btf, array.type_id, f"{name}[{array.length}]")
    if kind in (STRUCT, UNION):
        return f"char {name}[{btf.size_bytes(type_id)}]"
    if kind in (INT, ENUM):
        return f"{_integer(btf, type_id)} {name}"
    raise BtfError(f"BTF has an unsupported type for {name}")


def _inner(btf: Btf, member: Member, name: str, paths: Sequence[str]) -> str:
    """Return the declaration of a struct member whose members are read."""
    type_id = btf.resolve(member.type_id)
    suffix = ""
    if name.endswith("[]"):
        array = btf.array(type_id)
        type_id, suffix = btf.resolve(array.type_id), f"[{array.length}]"
    return f"struct {{\n{_body(btf, type_id, paths)}}} {member.name}{suffix}"


def _body(btf: Btf, type_id: int, paths: Sequence[str]) -> str:
    """Return the members of a struct that are in ``paths``, each at its offset."""
    inner = defaultdict[str, list[str]](list)
    for path in paths:
        name, _, rest = path.partition(".")
        inner[name].extend([rest] if rest else [])
    known = {member.name: member for member in btf.members(type_id)}
    lines = [f"\tchar rcp_size[{btf.size_bytes(type_id)}];\n"]
    for name, rests in inner.items():
        member = known.get(name.removesuffix("[]"))
        if member is None:
            continue
        if member.offset_bits % 8:
            raise BtfError(f"the member {name} is a bit field in this kernel")
        text = (
            _inner(btf, member, name, rests)
            if rests
            else _declaration(btf, member.type_id, member.name)
        )
        padding = f"char rcp_before_{member.name}[{member.offset_bits // 8}]; "
        lines.append(f"\tstruct {{ {padding}{text}; }};\n")
    # each member is in its own struct of a union, since members may overlap in the kernel
    return f"\tunion {{\n{''.join(lines)}\t}};\n"


def _checks(btf: Btf, type_id: int, name: str, members: Sequence[str]) -> Iterator[str]:
    """Yield macros for the members that exist, and assertions of size and offsets."""
    yield f'_Static_assert(sizeof(struct {name}) == {btf.size_bytes(type_id)}, "{name}");\n'
    known = {member.name: member.offset_bits // 8 for member in btf.members(type_id)}
    for path in members:
        member = path.partition(".")[0].removesuffix("[]")
        if member not in known:
            continue
        offset = f"__builtin_offsetof(struct {name}, {member})"
        yield f'_Static_assert({offset} == {known[member]}, "{name}.{member}");\n'
        if member == path:
            yield f"#define RCP_HAS_{name}_{member} 1\n"


def kernel_types(kernel: Btf, *modules: Btf) -> str:
    """Return the declarations; structs that neither kernel nor modules have are left out."""
    types: dict[str, tuple[Btf, int]] = {}
    for btf in (kernel, *modules):
        wanted = set(STRUCTS) - set(types)
        types |= {name: (btf, type_id) for name, type_id in btf.structs(wanted).items()}
    parts = [f"struct {name};\n" for name in STRUCTS]
    for name, members in STRUCTS.items():
        if name not in types:
            continue
        btf, type_id = types[name]
        parts.append(f"struct {name} {{\n{_body(btf, type_id, members.split())}}};\n")
        parts += _checks(btf, type_id, name, members.split())
    values = kernel.enumerators(set(ENUMERATORS))
    parts += [f"#define {name} {value}\n" for name, value in sorted(values.items())]
    return "".join(parts)


def read_btf() -> dict[str, Btf]:
    """Return the BTF of the running kernel as "", and with each module that the probes read.

    Raises RecordError when it cannot be read.
    """
    try:
        kernel = Btf((module_types.BTF_DIR / "vmlinux").read_bytes())
        blobs = {name: module_types.module_types(name) for name in module_types.MODULES}
        modules = {name: kernel.with_module(blob) for name, blob in blobs.items() if blob}
        return {"": kernel, **modules}
    except (OSError, BtfError) as error:
        raise RecordError(f"cannot read the kernel's BTF: {error}") from error


def identity() -> list[bytes]:
    """Return what changes with the types: the kernel's build id, and the modules' BTF or files."""
    notes = Path("/sys/kernel/notes")
    try:
        kernel = notes.read_bytes()
    except OSError:
        kernel = (module_types.BTF_DIR / "vmlinux").read_bytes()
    return [kernel, *(module_types.stamp(name) for name in module_types.MODULES)]
