/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For whom a stacked device does an io. dm and md queue clones of a bio at the devices below, from
 * any thread; each clone inherits the origin of the bio it was made from:
 *
 *   writer queues bio A at dm-0  ->  kcryptd makes clone B of A  ->  dmcrypt_write queues B at sda
 *                                    origin of B: writer, dm-0
 *
 * loop has a kernel worker read and write the backing file: what it queues and dirties meanwhile
 * is for the task that is the origin of the loop device's io.
 */

#define MAJOR_OF(dev) ((dev) >> 20)
#define LOOP_MAJOR 7 /* include/uapi/linux/major.h */
#define MD_MAJOR 9

struct origin {
	u64 queued_ns;
	u64 io; /* of the loop device, else 0 */
	u64 mapping; /* page cache of its first page */
	u32 tid;
	u32 dev;
	u32 is_taken; /* the clone was queued: at its next life this is another bio's */
	u32 unused;
};

struct serving {
	struct origin origin; /* tid 0: for nobody now */
	u64 ts;
	u64 io; /* of the loop device, or the read below dm-crypt */
	u32 dev;
	u32 layer; /* RCP_LAYER_* */
};

/* In bio_state.flags: its origin is in origins. */
#define BIO_STACKED (1U << 30)

/* By address of a bio, or of a request of a loop device. */
BPF_TABLE("lru_hash", u64, struct origin, origins, 16384);
/* Loop's workers at work, by tid. */
BPF_HASH(servings, u32, struct serving, 1024);
/* The flush that a loop device does: block/blk-flush.c has one of each queue in flight. */
BPF_HASH(loop_flushes, u32, u64, 256);
/* The io below that has read for a struct dm_crypt_io, until that is decrypted. */
BPF_TABLE("lru_hash", u64, u64, reads_below, 4096);
/* Not 0 once a stacked device was used: other machines pay for the look at this only. */
BPF_ARRAY(layers_used, int, 1);

static inline int has_layers(void)
{
	int zero = 0, *is_used = layers_used.lookup(&zero);

	return is_used && *is_used;
}

/* The task for which the current one works: a loop's worker for another, others for themselves. */
static inline u32 served_tid(void)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct serving *serving = has_layers() ? servings.lookup(&tid) : NULL;

	return serving && serving->origin.tid ? serving->origin.tid : tid;
}

/* For whom a stacked device has a bio: 0 when that is not known. */
static inline int origin_of_bio(struct bio *bio, struct origin *found)
{
	u64 key = (u64)bio;
	struct bio_state *state = bios.lookup(&key);
	struct origin *known = origins.lookup(&key);
	struct block_device *bdev = NULL;

	/* a clone of a clone, which need not have been queued itself (dm-crypt) */
	if (known && (!known->is_taken || (state && state->flags & BIO_STACKED))) {
		*found = *known;
	} else if (state) {
		found->queued_ns = state->queued_ns;
		found->mapping = state->mapping;
		found->tid = state->tid;
		bpf_probe_read_kernel(&bdev, sizeof(bdev), &bio->bi_bdev);
		bpf_probe_read_kernel(&found->dev, sizeof(found->dev), &bdev->bd_dev);
	} else {
		return 0;
	}
	found->is_taken = 0;
	return 1;
}

/* Who has most of the pages of a file that are not yet written, NULL for nobody. */
static inline struct dirtier *next_dirtier(struct inode_state *inode)
{
	struct dirtier *found = NULL;

#pragma unroll
	for (int i = 0; i < MAX_DIRTIERS; i++) {
		struct dirtier *one = &inode->dirtiers[i];

		if (one->n_pages > 0 && (!found || one->n_pages > found->n_pages))
			found = one;
	}
	return found;
}

/*
 * For whom a worker of a stacked device does what a bio needs: if its pages are a file's, for who
 * has dirtied these. Returns 0 when that is not known.
 */
static inline int owner_of_bio(struct bio *bio, struct origin *found)
{
	struct inode_state *inode;
	struct dirtier *dirtier;

	if (!origin_of_bio(bio, found))
		return 0;
	inode = found->mapping ? inodes.lookup(&found->mapping) : NULL;
	dirtier = inode ? next_dirtier(inode) : NULL;
	if (dirtier)
		found->tid = dirtier->tid;
	found->mapping = 0;
	return 1;
}

static inline int begin_command(struct serving *serving, struct origin *origin)
{
	serving->origin = *origin;
	if (serving->layer == RCP_LAYER_LOOP)
		serving->io = origin->io;
	serving->ts = bpf_ktime_get_ns();
	return 0;
}

static inline int end_command(void)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct serving *serving = has_layers() ? servings.lookup(&tid) : NULL;
	struct io_served_record event = {};

	if (!serving || !serving->origin.tid)
		return 0;
	event.ts = serving->ts;
	event.end_ns = bpf_ktime_get_ns();
	event.io = serving->io;
	event.tid = tid;
	event.dev = serving->dev;
	event.owner_tid = serving->origin.tid;
	event.layer = serving->layer;
	serving->origin.tid = 0;
	count_output(io_served_ring.ringbuf_output(&event, sizeof(event), RCP_NO_WAKEUP),
		     REC_IO_SERVED);
	return 0;
}

/* The current worker is at work for this origin until end_serving() of this layer. */
static inline int begin_serving(u32 layer, u64 io, struct origin *origin)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct serving serving = {};
	int zero = 0, used = 1;

	serving.layer = layer;
	serving.dev = origin->dev;
	serving.io = io;
	begin_command(&serving, origin);
	servings.update(&tid, &serving);
	layers_used.update(&zero, &used);
	return 0;
}

static inline int end_serving(u32 layer)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct serving *serving = servings.lookup(&tid);

	if (!serving || serving->layer != layer)
		return 0;
	end_command();
	servings.delete(&tid);
	return 0;
}

/* At a bio's queueing, once in its life. */
static inline void take_origin(u64 bio, struct bio_state *state)
{
	struct origin *origin = origins.lookup(&bio);
	struct serving *serving;
	struct origin fresh;

	if (origin && origin->is_taken)
		origin = NULL;
	if (!origin) {
		serving = servings.lookup(&state->tid);
		if (!serving || !serving->origin.tid)
			return;
		fresh = serving->origin;
		fresh.is_taken = 1;
		origins.update(&bio, &fresh);
	} else {
		origin->is_taken = 1;
		if (origin->mapping) /* not that of encrypted pages, which have none */
			state->mapping = origin->mapping;
	}
	state->flags |= BIO_STACKED;
}

/* A bio that is split was queued once, its parts have its origin. */
static inline void copy_origin(u64 from, u64 to)
{
	struct origin *origin = origins.lookup(&from);
	struct origin copy;

	if (!origin)
		return;
	copy = *origin;
	origins.update(&to, &copy);
}

/* Whether the pages are those of the io above, whose causes were taken there. */
static inline int is_of_parent(struct origin *origin, u64 mapping)
{
	return origin && origin->io && origin->mapping == mapping;
}

/* An io below a stacked device says for whom it is; one of a loop device is that for others. */
static inline void describe_origin(struct io_record *io, struct request *rq, struct origin *origin,
				   u64 mapping, u32 dirtier)
{
	struct io_origin_record event = {};
	struct inode_state *inode;
	struct origin own = {};
	u64 key = (u64)rq;

#ifdef RCP_PROBE_io_origin
	if (origin) {
		inode = inodes.lookup(&mapping);
		event.io = io->id;
		event.parent_io = origin->io;
		event.queued_ns = origin->queued_ns;
		event.file_dev = io->ino && inode ? inode->dev : 0;
		event.tid = origin->tid;
		event.dev = origin->dev;
		count_output(io_origin_ring.ringbuf_output(&event, sizeof(event), RCP_NO_WAKEUP),
			     REC_IO_ORIGIN);
	}
	if (MAJOR_OF(io->dev) != LOOP_MAJOR)
		return;
	if (origin)
		own = *origin;
	own.queued_ns = own.queued_ns ?: io->queued_ns;
	own.dev = own.dev ?: io->dev;
	own.tid = dirtier ?: own.tid ?: io->submitter_tid;
	own.io = io->id;
	own.mapping = mapping;
	own.is_taken = 1;
	origins.update(&key, &own);
	if ((io->cmd_flags & REQ_OP_MASK) == REQ_OP_FLUSH)
		loop_flushes.update(&io->dev, &key);
#endif
}
