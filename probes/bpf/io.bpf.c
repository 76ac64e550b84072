// SPDX-License-Identifier: Apache-2.0
/*
 * One record per finished block request, with btt's stages: Q queued, G got a request,
 * I inserted in the scheduler, D issued to the driver, C completed. While a completion runs,
 * completing_io has its io's id, so that the wake-ups it causes can refer to it.
 */

BPF_HASH(ios, u64, struct io_record, 65536);
BPF_PERCPU_ARRAY(io_count, u64, 1);

/* Further merged bios are ignored: 64 * 4 KiB is a common request limit. */
#define MAX_BIOS 64
/* Further inodes too: writeback merges files only where they are adjacent on disk. */
#define MAX_INODES 4

struct io_inodes {
	u64 mapping[MAX_INODES];
	u64 bytes[MAX_INODES];
};

/* Not on the stack: the verifier would explore every way to fill it, bio by bio. */
BPF_PERCPU_ARRAY(inodes_of_io, struct io_inodes, 1);

RAW_TRACEPOINT_PROBE(block_bio_queue)
{
	u64 bio = ctx->args[0];
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct bio_state state = {}, *throttled;
	int zero = 0, *is_used;
	struct bio copy = {};
	u64 mapping;

	if (is_paused()) {
		bios.delete(&bio); /* an earlier bio at this address */
		return 0;
	}
	/* one copy costs less than a read of each member */
	bpf_probe_read_kernel(&copy, sizeof(copy), (void *)bio);
	state.blkg = blkg_of(&copy);
	state.bytes = copy.bi_iter.bi_size;
	if (state.bytes && (copy.bi_opf & REQ_OP_MASK) <= REQ_OP_WRITE)
		state.mapping = mapping_of(&copy, copy.bi_opf & REQ_OP_MASK);
	mapping = state.mapping;
	state.queued_ns = bpf_ktime_get_ns();
	state.tid = (u32)pid_tgid;
	if (pid_tgid >> 32 == RCP_SELF_PID)
		state.flags = RCP_IO_RECORDER;
	is_used = throttle_used.lookup(&zero);
	throttled = is_used && *is_used ? bios.lookup(&bio) : NULL;
	if (throttled && throttled->flags & BIO_IN_THROTTLE) {
		state.queued_ns = throttled->queued_ns;
		state.tid = throttled->tid;
		state.flags = RCP_IO_THROTTLED | (throttled->flags & RCP_IO_RECORDER);
	}
	if (has_layers())
		take_origin(bio, &state);
	if ((copy.bi_opf & REQ_OP_MASK) < REQ_OP_WRITE) {
		record_refaults(&state);
		/* below dm-crypt, a bio's pages are not those of the file */
		if (state.mapping == mapping)
			record_read_again(&state, &copy);
	}
	bios.update(&bio, &state);
	return 0;
}

/*
 * A bio that is too large for the device is split: the front part is a new bio, chained to the
 * rest by bi_private (block/bio.c:bio_chain). It was queued when the whole bio was. dm tells of the
 * whole bio (drivers/md/dm.c:dm_split_and_process_bio), of which bi_private may be anything.
 */
RAW_TRACEPOINT_PROBE(block_split)
{
	struct bio *front = (struct bio *)ctx->args[0];
	u64 key = (u64)front, rest = (u64)front->bi_private;
	struct bio_state *whole = bios.lookup(&rest);
	struct block_device *bdev = NULL;
	struct bio_state part;

	bpf_probe_read_kernel(&bdev, sizeof(bdev), &((struct bio *)rest)->bi_bdev);
	if (!whole || bdev != front->bi_bdev)
		return 0;
	part = *whole;
	part.got_ns = 0;
	part.bytes = front->bi_iter.bi_size;
	whole->bytes -= part.bytes;
	if (part.flags & BIO_STACKED)
		copy_origin(rest, key);
	bios.update(&key, &part);
	return 0;
}

RAW_TRACEPOINT_PROBE(block_getrq)
{
	u64 bio = ctx->args[0];
	struct bio_state *state = bios.lookup(&bio);

	if (state)
		state->got_ns = bpf_ktime_get_ns();
	return 0;
}

static inline struct io_record *io_of(struct request *rq)
{
	u64 key = (u64)rq;
	struct io_record *io = ios.lookup(&key);
	struct io_record fresh = {};
	int zero = 0;
	u64 *count;

	if (io)
		return io;
	count = io_count.lookup(&zero);
	if (!count)
		return NULL;
	*count += 1;
	fresh.id = ((u64)bpf_get_smp_processor_id() + 1) << 48 | *count;
	ios.update(&key, &fresh);
	io = ios.lookup(&key);
	if (!io)
		lost.increment(REC_IO);
	return io;
}

static inline void add_inode(struct io_inodes *of_io, u64 mapping, u64 bytes)
{
#pragma unroll
	for (int i = 0; i < MAX_INODES; i++) {
		if (!of_io->mapping[i])
			of_io->mapping[i] = mapping;
		if (of_io->mapping[i] == mapping) {
			of_io->bytes[i] += bytes;
			return;
		}
	}
}

/* Returns the task that dirtied most of its first inode's pages, 0 when none is known. */
static inline u32 describe_inodes(struct io_record *io, struct io_inodes *of_io,
				  struct origin *origin)
{
	struct inode_state *inode = inode_of(of_io->mapping[0]);
	int is_write = (io->cmd_flags & REQ_OP_MASK) == REQ_OP_WRITE;
	u32 tid, dirtier = 0;

	if (is_of_parent(origin, of_io->mapping[0]))
		return 0;
	if (inode)
		io->ino = inode->ino;
	for (int i = 0; i < MAX_INODES && is_write && of_io->mapping[i]; i++) {
		if (i)
			inode = inodes.lookup(&of_io->mapping[i]);
		if (!inode)
			continue;
		tid = take_causes(io->id, inode, (of_io->bytes[i] + PAGE_SIZE - 1) / PAGE_SIZE);
		dirtier = dirtier ?: tid;
	}
	return dirtier;
}

/* Times and submitter are those of the request's oldest bio, which need not be the first. */
static inline void describe_bios(struct io_record *io, struct request *rq)
{
	struct bio *bio = rq->bio;
	struct io_inodes *of_io;
	struct origin *origin = NULL;
	u64 blkg = 0, stacked = 0;
	u32 n_bios = 0, dirtier;
	int zero = 0;

	of_io = inodes_of_io.lookup(&zero);
	if (!of_io)
		return;
	*of_io = (struct io_inodes){};
	for (int i = 0; i < MAX_BIOS && bio; i++) {
		u64 key = (u64)bio;
		struct bio_state *state = bios.lookup(&key);

		n_bios++;
		if (state) {
			if (!io->queued_ns || state->queued_ns < io->queued_ns) {
				io->queued_ns = state->queued_ns;
				io->submitter_tid = state->tid;
				io->flags |= state->flags;
				stacked = state->flags & BIO_STACKED ? key : 0;
			}
			if (state->mapping)
				add_inode(of_io, state->mapping, state->bytes);
			blkg = blkg ?: state->blkg;
			if (state->got_ns && (!io->got_ns || state->got_ns < io->got_ns))
				io->got_ns = state->got_ns;
			bios.delete(&key);
		}
		bio = bio->bi_next;
	}
	io->n_bios = n_bios;
	io->cgroup_id = cgroup_of_blkg(blkg);
	if (stacked)
		origin = origins.lookup(&stacked);
	dirtier = describe_inodes(io, of_io, origin);
	if (!io->queued_ns) {
		io->queued_ns = rq->start_time_ns ?: io->issued_ns;
		io->submitter_tid = (u32)bpf_get_current_pid_tgid();
		io->flags |= RCP_IO_FROM_RQ;
	}
	if (!io->got_ns)
		io->got_ns = io->queued_ns;
	describe_origin(io, rq, origin, of_io->mapping[0], dirtier);
}

#ifdef RCP_PROBE_policy_event
static inline void check_tokens_at_insert(struct request *rq);
#endif

RAW_TRACEPOINT_PROBE(block_rq_insert)
{
	struct request *rq = (struct request *)ctx->args[0];
	struct io_record *io = is_paused() ? NULL : io_of(rq);

	if (io && !io->inserted_ns)
		io->inserted_ns = bpf_ktime_get_ns();
#ifdef RCP_PROBE_policy_event
	check_tokens_at_insert(rq);
#endif
	return 0;
}

/* The second request of a merge ends here; its bios now belong to the first. */
RAW_TRACEPOINT_PROBE(block_rq_merge)
{
	u64 key = ctx->args[0];

	ios.delete(&key);
	return 0;
}

static inline u32 disk_of(struct request *rq)
{
	struct gendisk *disk = rq->q->disk;

	return disk ? disk->part0->bd_dev : 0;
}

RAW_TRACEPOINT_PROBE(block_rq_issue)
{
	struct request *rq = (struct request *)ctx->args[0];
	u64 key = (u64)rq;
	struct io_record *io;

	if (is_paused() && !ios.lookup(&key)) {
		lost.increment(REC_IO);
		return 0;
	}
	io = io_of(rq);
	if (!io)
		return 0;
	if (io->issued_ns) {
		io->issued_ns = bpf_ktime_get_ns();
		io->flags |= RCP_IO_REQUEUED;
		return 0;
	}
	io->issued_ns = bpf_ktime_get_ns();
	io->dev = disk_of(rq);
	io->sector = rq->__sector;
	io->bytes = rq->__data_len;
	io->cmd_flags = rq->cmd_flags;
	/* blk_insert_flush() takes it off a request that waits for a flush first */
	if (rq->bio)
		io->cmd_flags |= rq->bio->bi_opf & 1U << __REQ_PREFLUSH;
	describe_bios(io, rq);
#ifdef __REQ_SWAP
	if (io->cmd_flags & 1U << __REQ_SWAP)
		io->flags |= RCP_IO_SWAP_OUT;
#endif
	return 0;
}

/* Less is not recorded: that is the end of a page or two. */
#define INTERRUPT_MIN_NS 5000

/*
 * The bios of an io have ended: that took the CPU from the task here if it is an interrupt, or on
 * an idle CPU from a task that it has woken.
 */
static inline void bios_ended(struct completing_io *completion)
{
	struct interrupt_record event = {};

	if (!completion || !completion->since_ns)
		return;
	event.ts = completion->since_ns;
	completion->since_ns = 0;
	event.end_ns = bpf_ktime_get_ns();
	event.tid = (u32)bpf_get_current_pid_tgid();
	if (event.end_ns - event.ts < INTERRUPT_MIN_NS || !(event.tid || completion->has_woken) ||
	    completion->context == CONTEXT_TASK)
		return;
	event.io = completion->io;
	event.cpu = bpf_get_smp_processor_id();
	count_output(interrupt_ring.ringbuf_output(&event, sizeof(event), RCP_NO_WAKEUP),
		     REC_INTERRUPT);
}

RAW_TRACEPOINT_PROBE(block_rq_complete)
{
	struct request *rq = (struct request *)ctx->args[0];
	u64 key = (u64)rq;
	struct io_record *io;
	struct io_record event;
	struct completing_io *completion = completion_here();
	u32 done_bytes = ctx->args[2], context;
	u64 now;

	if (!completion)
		return 0;
	context = context_on(completion);
	if (context == completion->context) /* the one before in a batch has no hook at its end */
		bios_ended(completion);
	completion->since_ns = 0;
	io = ios.lookup(&key);
	if (!io) { /* it was never issued: a flush that completes here did its work */
		if (completion->is_flush && context == completion->context)
			completion->within++;
		return 0;
	}
	now = bpf_ktime_get_ns();
	completion->context = context;
	set_completing_io(completion, io->id, now);
	completion->is_flush = (io->cmd_flags & REQ_OP_MASK) == REQ_OP_FLUSH ||
			       io->cmd_flags & (1U << __REQ_PREFLUSH | 1U << __REQ_FUA);
	if (done_bytes < rq->__data_len)
		return 0; /* a part; the rest completes later */
	event = *io;
	event.completed_ns = now;
	event.error = (s32)ctx->args[1];
	ios.delete(&key);
	if (event.issued_ns)
		count_output(io_ring.ringbuf_output(&event, sizeof(event), RCP_NO_WAKEUP), REC_IO);
	return 0;
}

KRETFUNC_PROBE(blk_update_request)
{
	bios_ended(completion_here());
	return 0;
}

static inline int completion_ends(void)
{
	struct completing_io *completion = completion_here();

	bios_ended(completion);
	set_completing_io(completion, 0, 0);
	return 0;
}

/*
 * After the bios have ended the tag is freed, which may wake a task that waits for one. Drivers
 * that end requests otherwise (SCSI) leave completing_io set; the next context switch clears it,
 * and another interrupt context ignores it.
 */
KRETFUNC_PROBE(blk_mq_end_request)
{
	struct completing_io *completion = completion_here();

	if (completion && completion->within) {
		completion->within--; /* flush_end_io() goes on, and kicks the next flush */
		return 0;
	}
	return completion_ends();
}

KRETFUNC_PROBE(blk_mq_end_request_batch)
{
	return completion_ends();
}
