// SPDX-License-Identifier: Apache-2.0
/*
 * One record per finished block request, with btt's stages: Q queued, G got a request,
 * I inserted in the scheduler, D issued to the driver, C completed. While a completion runs,
 * its io's id stands in completing_io, so that the wake-ups it causes can name it.
 */

BPF_HASH(ios, u64, struct io_record, 65536);
BPF_PERCPU_ARRAY(io_count, u64, 1);

/* More merged bios than this are not looked at: 64 * 4 KiB is a common request limit. */
#define MAX_BIOS 64
/* Nor more inodes in one io: writeback merges across files only where they touch on disk. */
#define MAX_INODES 4

struct io_inodes {
	u64 mapping[MAX_INODES];
	u64 bytes[MAX_INODES];
};

/* In a map, not on the stack: the verifier would follow every way to fill it, bio by bio. */
BPF_PERCPU_ARRAY(inodes_of_io, struct io_inodes, 1);

RAW_TRACEPOINT_PROBE(block_bio_queue)
{
	u64 bio = ctx->args[0];
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct bio_state state = {}, *held;
	int zero = 0, *is_used;
	struct bio copy = {};

	if (is_paused()) {
		bios.delete(&bio); /* of an earlier bio at this address */
		return 0;
	}
	/* one copy of the whole costs less than a read of each member */
	bpf_probe_read_kernel(&copy, sizeof(copy), (void *)bio);
	state.blkg = blkg_of(&copy);
	state.bytes = copy.bi_iter.bi_size;
	if (state.bytes && (copy.bi_opf & REQ_OP_MASK) <= REQ_OP_WRITE)
		state.mapping = mapping_of(&copy);
	state.queued_ns = bpf_ktime_get_ns();
	state.tid = (u32)pid_tgid;
	if (pid_tgid >> 32 == RCP_SELF_PID)
		state.flags = RCP_IO_RECORDER;
	is_used = holds_bios.lookup(&zero);
	held = is_used && *is_used ? bios.lookup(&bio) : NULL;
	if (held && held->flags & BIO_IS_HELD) {
		state.queued_ns = held->queued_ns;
		state.tid = held->tid;
		state.flags = RCP_IO_THROTTLED | (held->flags & RCP_IO_RECORDER);
	}
	bios.update(&bio, &state);
	return 0;
}

/*
 * A bio larger than the device takes is cut: the front part is a new bio, chained to the rest
 * by bi_private (block/bio.c:bio_chain), and was queued when the whole was.
 */
RAW_TRACEPOINT_PROBE(block_split)
{
	struct bio *front = (struct bio *)ctx->args[0];
	u64 key = (u64)front, rest = (u64)front->bi_private;
	struct bio_state *whole = bios.lookup(&rest);
	struct bio_state part;

	if (!whole)
		return 0;
	part = *whole;
	part.got_ns = 0;
	part.bytes = front->bi_iter.bi_size;
	whole->bytes -= part.bytes;
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

static inline void describe_inodes(struct io_record *io, struct io_inodes *of_io)
{
	struct inode_state *inode = inode_of(of_io->mapping[0]);
	int is_write = (io->cmd_flags & REQ_OP_MASK) == REQ_OP_WRITE;

	if (inode)
		io->ino = inode->ino;
	for (int i = 0; i < MAX_INODES && is_write && of_io->mapping[i]; i++) {
		if (i)
			inode = inodes.lookup(&of_io->mapping[i]);
		if (inode)
			take_causes(io->id, inode, (of_io->bytes[i] + PAGE_SIZE - 1) / PAGE_SIZE);
	}
}

/* Times and submitter from the oldest of the request's bios, which is not always the first. */
static inline void describe_bios(struct io_record *io, struct request *rq)
{
	struct bio *bio = rq->bio;
	struct io_inodes *of_io;
	int zero = 0;
	u32 n_bios = 0;
	u64 blkg = 0;

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
	describe_inodes(io, of_io);
	if (!io->queued_ns) {
		io->queued_ns = rq->start_time_ns ?: io->issued_ns;
		io->submitter_tid = (u32)bpf_get_current_pid_tgid();
		io->flags |= RCP_IO_FROM_RQ;
	}
	if (!io->got_ns)
		io->got_ns = io->queued_ns;
}

#ifdef RCP_PROBE_policy_event
static inline void look_at_insertion(struct request *rq);
#endif

RAW_TRACEPOINT_PROBE(block_rq_insert)
{
	struct request *rq = (struct request *)ctx->args[0];
	struct io_record *io = is_paused() ? NULL : io_of(rq);

	if (io && !io->inserted_ns)
		io->inserted_ns = bpf_ktime_get_ns();
#ifdef RCP_PROBE_policy_event
	look_at_insertion(rq);
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
	describe_bios(io, rq);
	return 0;
}

RAW_TRACEPOINT_PROBE(block_rq_complete)
{
	struct request *rq = (struct request *)ctx->args[0];
	u64 key = (u64)rq;
	struct io_record *io = ios.lookup(&key);
	struct io_record event;
	u32 done_bytes = ctx->args[2];

	if (!io)
		return 0;
	set_completing_io(io->id);
	if (done_bytes < rq->__data_len)
		return 0; /* a part; the rest completes later */
	event = *io;
	event.completed_ns = bpf_ktime_get_ns();
	event.error = (s32)ctx->args[1];
	ios.delete(&key);
	if (event.issued_ns)
		count_output(io_ring.ringbuf_output(&event, sizeof(event), RCP_NO_WAKEUP), REC_IO);
	return 0;
}

static inline int completion_ends(void)
{
	set_completing_io(0);
	return 0;
}

/*
 * After the bios have ended the tag is freed, which may wake a task that waits for one.
 * Drivers that end requests by other ways (SCSI) leave the slot set; the next switch or the
 * change of context voids it.
 */
KRETFUNC_PROBE(blk_mq_end_request)
{
	return completion_ends();
}

KRETFUNC_PROBE(blk_mq_end_request_batch)
{
	return completion_ends();
}
