// SPDX-License-Identifier: Apache-2.0
/*
 * Who adds how much to XFS's log (fs/xfs/xfs_log_cil.c). Transactions put what they change into the
 * list of committed items (CIL), which is written as a checkpoint (xfs_checkpoint.bpf.c). What is
 * changed again before that counts once, as it does in jbd2.
 */

/* Without the module's types its functions can not be hooked; and checkpoints must have an end. */
#if defined(RCP_HAS_xlog_l_mp) && defined(RCP_HAVE_xlog_cil_push_work) && \
	defined(RCP_HAVE_xlog_cil_ctx_switch)

/*
 * While a checkpoint lacks space for headers of the log's buffers, each transaction gives it some
 * of its own, and the first one what the checkpoint reserves, with a header (fs/xfs/xfs_log_cil.c:
 * xlog_cil_insert_items). No change is written there.
 */
struct headers_given {
	u32 n_bytes;
	u32 header_bytes; /* one of them */
};

/* By task, while it commits a transaction. */
BPF_HASH(committing, u32, struct headers_given, 1024);

#ifdef RCP_HAVE_xlog_cil_commit
KFUNC_PROBE(xlog_cil_commit, struct xlog *log, struct xfs_trans *transaction)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct headers_given given = {};
#ifdef RCP_HAS_xfs_cil_xc_iclog_hdrs
	struct xlog_ticket *ticket = NULL;
	struct xfs_cil *cil = NULL;
	s32 n_missing = 0, n = 0;

	bpf_probe_read_kernel(&cil, sizeof(cil), &log->l_cilp);
	bpf_probe_read_kernel(&n_missing, sizeof(n_missing), &cil->xc_iclog_hdrs);
	bpf_probe_read_kernel(&ticket, sizeof(ticket), &transaction->t_ticket);
	bpf_probe_read_kernel(&n, sizeof(n), &ticket->t_iclog_hdrs);
	bpf_probe_read_kernel(&given.header_bytes, sizeof(u32), &log->l_iclog_hsize);
	given.header_bytes += sizeof(struct xlog_op_header);
	given.n_bytes = n_missing > 0 ? n * given.header_bytes : 0;
#endif
	committing.update(&tid, &given);
	return 0;
}
#endif

static inline u32 reserved_by(struct xlog *log)
{
	u32 n_bytes = 0;
#ifdef RCP_HAS_xfs_cil_ctx_ticket
	struct xlog_ticket *ticket = NULL;
	struct xfs_cil_ctx *next = NULL;
	struct xfs_cil *cil = NULL;

	bpf_probe_read_kernel(&cil, sizeof(cil), &log->l_cilp);
	bpf_probe_read_kernel(&next, sizeof(next), &cil->xc_ctx);
	bpf_probe_read_kernel(&ticket, sizeof(ticket), &next->ticket);
	bpf_probe_read_kernel(&n_bytes, sizeof(n_bytes), &ticket->t_unit_res);
#endif
	return n_bytes;
}

/*
 * A transaction takes what it adds to the list from its reservation, and gives the rest back, or
 * renews it, right after. Who is first is told without a lock: if two CPUs begin a checkpoint at
 * the same time, its reservation may count as a change of one of them.
 */
static inline int add_changes(struct xlog *log, struct xlog_ticket *ticket)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct headers_given *given = committing.lookup(&tid);
	struct transaction_key key = {};
	s32 reserved = 0, left = 0, added;

	if (!given)
		return 0; /* it is cancelled, or a checkpoint's own */
	bpf_probe_read_kernel(&reserved, sizeof(reserved), &ticket->t_unit_res);
	bpf_probe_read_kernel(&left, sizeof(left), &ticket->t_curr_res);
	added = reserved - left - given->n_bytes;
	key.dev = dev_of_log(log);
	if (!next_checkpoints.lookup(&key.dev))
		added -= reserved_by(log) - (given->n_bytes ? given->header_bytes : 0);
	committing.delete(&tid);
	if (is_paused())
		return 0;
	key.transaction = next_checkpoint(key.dev);
	/* also if it adds nothing: it needs what is in the list already */
	add_handle(&key, changes_for(tid), bpf_ktime_get_ns(), added, BASIC_BLOCK_BYTES);
	return 0;
}

#ifdef RCP_HAVE_xfs_log_ticket_ungrant
KFUNC_PROBE(xfs_log_ticket_ungrant, struct xlog *log, struct xlog_ticket *ticket)
{
	return add_changes(log, ticket);
}
#endif

#ifdef RCP_HAVE_xfs_log_ticket_regrant
KFUNC_PROBE(xfs_log_ticket_regrant, struct xlog *log, struct xlog_ticket *ticket)
{
	return add_changes(log, ticket);
}
#endif

#endif
