// SPDX-License-Identifier: Apache-2.0
/*
 * Stacked devices: clones of bios (dm, md), and the workers of loop devices. See layer.h. Without
 * such devices only bio_endio runs, and bio_alloc_clone for bios that are too large for a device.
 */

static inline void inherit_origin(u64 clone, struct bio *whole)
{
	struct origin origin = {};
	int zero = 0, used = 1;

	if (!origin_of_bio(whole, &origin))
		return;
	origins.update(&clone, &origin);
	layers_used.update(&zero, &used);
}

#ifdef RCP_HAVE_bio_alloc_clone
/* Splitting a bio makes a clone too (bio_split): for the same device, and block_split tells. */
KRETFUNC_PROBE(bio_alloc_clone, struct block_device *bdev, struct bio *whole, u32 gfp, void *set,
	       struct bio *clone)
{
	struct block_device *from = NULL;
	u32 dev = 0;

	if (!clone || is_paused())
		return 0;
	bpf_probe_read_kernel(&from, sizeof(from), &whole->bi_bdev);
	bpf_probe_read_kernel(&dev, sizeof(dev), &from->bd_dev);
	if (from != bdev || MAJOR_OF(dev) == MD_MAJOR)
		inherit_origin((u64)clone, whole);
	return 0;
}
#endif

#ifdef RCP_HAVE_dm_submit_bio_remap
/* A target's own bio in place of dm's clone: dm-crypt's with the encrypted pages. */
KFUNC_PROBE(dm_submit_bio_remap, struct bio *clone, struct bio *own)
{
	if (own && own != clone && !is_paused())
		inherit_origin((u64)own, clone);
	return 0;
}
#endif

#ifdef RCP_HAVE_bio_endio
/*
 * What is known of a bio ends with it: the next one at its address may never be queued itself. One
 * with several parts has a call for each.
 */
KFUNC_PROBE(bio_endio, struct bio *bio)
{
	u64 key = (u64)bio;
	u32 remaining = 0;
	u16 flags = 0;

	if (!has_layers())
		return 0;
	bpf_probe_read_kernel(&flags, sizeof(flags), &bio->bi_flags);
	bpf_probe_read_kernel(&remaining, sizeof(remaining), &bio->__bi_remaining.counter);
	if (flags & 1 << BIO_CHAIN && remaining > 1)
		return 0;
	origins.delete(&key);
	bios.delete(&key);
	return 0;
}
#endif

static inline int begin_work(struct loop_device *loop)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct serving serving = {};
	struct block_device *part = NULL;
	struct gendisk *disk = NULL;
	int zero = 0, used = 1;

	serving.layer = RCP_LAYER_LOOP;

#ifdef RCP_HAS_loop_device_lo_disk
	bpf_probe_read_kernel(&disk, sizeof(disk), &loop->lo_disk);
#endif
	bpf_probe_read_kernel(&part, sizeof(part), &disk->part0);
	bpf_probe_read_kernel(&serving.dev, sizeof(serving.dev), &part->bd_dev);
	servings.update(&tid, &serving);
	layers_used.update(&zero, &used);
	return 0;
}

static inline int end_work(void)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();

	servings.delete(&tid);
	return 0;
}

#if defined(RCP_HAVE_loop_workfn) && defined(RCP_HAS_loop_worker_lo)
KFUNC_PROBE(loop_workfn, u64 work)
{
	struct loop_worker *worker = (void *)(work - offsetof(struct loop_worker, work));
	struct loop_device *loop = NULL;

	bpf_probe_read_kernel(&loop, sizeof(loop), &worker->lo);
	return begin_work(loop);
}

KRETFUNC_PROBE(loop_workfn)
{
	return end_work();
}
#endif

#if defined(RCP_HAVE_loop_rootcg_workfn) && defined(RCP_HAS_loop_device_rootcg_work)
KFUNC_PROBE(loop_rootcg_workfn, u64 work)
{
	return begin_work((void *)(work - offsetof(struct loop_device, rootcg_work)));
}

KRETFUNC_PROBE(loop_rootcg_workfn)
{
	return end_work();
}
#endif

/*
 * A worker begins a command. Which of loop's functions this is depends on what the compiler has
 * inlined, and so do its arguments (attach.py finds the function): the argument that is the address
 * of a request under way, or of the driver's data right behind one, is the command.
 */
int loop_command_begin(struct pt_regs *ctx)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct serving *serving = servings.lookup(&tid);
	u64 registers[4] = { ctx->di, ctx->si, ctx->dx, ctx->cx };
	struct origin *origin;
	u64 key;

	if (!serving)
		return 0;
#pragma unroll
	for (int i = 0; i < 4; i++) {
		key = registers[i];
		origin = origins.lookup(&key);
		if (!origin) {
			key -= sizeof(struct request);
			origin = origins.lookup(&key);
		}
		if (origin)
			return begin_command(serving, origin);
	}
	return 0;
}

int loop_command_end(struct pt_regs *ctx)
{
	return end_command();
}

#if defined(RCP_HAVE_vfs_fsync) && defined(RCP_HAVE_loop_rootcg_workfn)
/* A flush of a loop device is an fsync of its file, without the request as an argument. */
KFUNC_PROBE(vfs_fsync)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct serving *serving = has_layers() ? servings.lookup(&tid) : NULL;
	struct origin *origin;
	u64 *request;

	if (!serving || serving->origin.tid)
		return 0;
	request = loop_flushes.lookup(&serving->dev);
	origin = request ? origins.lookup(request) : NULL;
	return origin ? begin_command(serving, origin) : 0;
}

KRETFUNC_PROBE(vfs_fsync)
{
	return end_command();
}
#endif

#ifdef RCP_HAVE_crypt_endio
/* The bio below dm-crypt ends, as part of the io that completes here. */
KFUNC_PROBE(crypt_endio, struct bio *clone)
{
	struct completing_io *completion = completion_here();
	u64 owner = 0, io;
	u32 flags = 0;
	u8 status = 0;

	if (!completion || !completion->io || is_paused())
		return 0;
	bpf_probe_read_kernel(&flags, sizeof(flags), &clone->bi_opf);
	bpf_probe_read_kernel(&status, sizeof(status), &clone->bi_status);
	if ((flags & REQ_OP_MASK) != REQ_OP_READ || status)
		return 0; /* nothing to decrypt */
	bpf_probe_read_kernel(&owner, sizeof(owner), &clone->bi_private);
	io = completion->io;
	reads_below.update(&owner, &io);
	return 0;
}
#endif

#if defined(RCP_HAVE_kcryptd_crypt) && defined(RCP_HAS_dm_crypt_io_base_bio)
/* A kcryptd worker encrypts or decrypts for a bio that dm has cloned. */
KFUNC_PROBE(kcryptd_crypt, u64 work)
{
	struct dm_crypt_io *io = (void *)(work - offsetof(struct dm_crypt_io, work));
	struct origin *origin;
	u64 bio = 0, key = (u64)io, below = 0, *read;

	bpf_probe_read_kernel(&bio, sizeof(bio), &io->base_bio);
	origin = is_paused() ? NULL : origins.lookup(&bio);
	if (!origin)
		return 0;
	read = reads_below.lookup(&key);
	if (read) {
		below = *read;
		reads_below.delete(&key); /* a write may be next at this address */
	}
	return begin_serving(RCP_LAYER_CRYPT, below, origin);
}

KRETFUNC_PROBE(kcryptd_crypt)
{
	return end_serving(RCP_LAYER_CRYPT);
}
#endif
