// SPDX-License-Identifier: Apache-2.0
/*
 * A thread of md reads and writes the stripes of RAID 4, 5 and 6, and computes their parity
 * (drivers/md/raid5.c): for the bios that wait at the stripe's disks.
 *
 *   writer queues bio A at md0 -> it waits at disk 1 of a stripe -> mdX_raid5 reads old data and
 *                                 parity, writes new ones            handle_stripe() each time
 */

#ifdef RCP_HAVE_raid5_make_request
/*
 * md copies the pages of a bio: those that it writes are no file's, and are in no io's causes. So
 * the pages of the bio are taken from its dirtier here.
 */
KFUNC_PROBE(raid5_make_request, void *mddev, struct bio *bio)
{
	u64 key = (u64)bio;
	struct bio_state *state = bios.lookup(&key);
	struct origin origin = {};
	struct dirtier *dirtier;
	struct inode_state *inode;
	u32 opf = 0, bytes = 0;
	s32 n_pages;

	bpf_probe_read_kernel(&opf, sizeof(opf), &bio->bi_opf);
	if ((opf & REQ_OP_MASK) != REQ_OP_WRITE || is_paused() || !origin_of_bio(bio, &origin))
		return 0;
	inode = origin.mapping ? inodes.lookup(&origin.mapping) : NULL;
	dirtier = inode ? next_dirtier(inode) : NULL;
	if (!dirtier)
		return 0;
	bpf_probe_read_kernel(&bytes, sizeof(bytes), &bio->bi_iter.bi_size);
	n_pages = (bytes + PAGE_SIZE - 1) / PAGE_SIZE;
	if (n_pages > dirtier->n_pages)
		n_pages = dirtier->n_pages;
	__sync_fetch_and_add(&dirtier->n_pages, -n_pages);
	inode->written_for = dirtier->tid;
	origin.tid = dirtier->tid;
	origin.mapping = 0;
	/* as in layer.h: so that the next bio at this address does not inherit it */
	origin.is_taken = state != NULL;
	if (state)
		state->flags |= BIO_STACKED;
	origins.update(&key, &origin);
	return 0;
}
#endif

#if defined(RCP_HAVE_handle_stripe) && defined(RCP_HAS_stripe_head_disks)

/* Of a wider stripe the other disks are not looked at. */
#define MAX_STRIPE_DISKS 32

/* The first bio that waits at a disk of the stripe, NULL for none. */
static inline struct bio *bio_of_stripe(struct stripe_head *stripe)
{
	struct bio *at[4] = {};
	s32 n_disks = 0;

	bpf_probe_read_kernel(&n_disks, sizeof(n_disks), &stripe->disks);
	for (int i = 0; i < MAX_STRIPE_DISKS && i < n_disks; i++) {
		bpf_probe_read_kernel(&at[0], sizeof(at[0]), &stripe->dev[i].towrite);
		bpf_probe_read_kernel(&at[1], sizeof(at[1]), &stripe->dev[i].written);
		bpf_probe_read_kernel(&at[2], sizeof(at[2]), &stripe->dev[i].toread);
		bpf_probe_read_kernel(&at[3], sizeof(at[3]), &stripe->dev[i].read);
		if (at[0] || at[1] || at[2] || at[3])
			return at[0] ?: at[1] ?: at[2] ?: at[3];
	}
	return NULL;
}

/* md accounts for a bio by a clone of it, which is not always known as such. */
static inline int origin_of_part(struct bio *bio, struct origin *found)
{
#if defined(RCP_HAS_md_io_clone_orig_bio) || defined(RCP_HAS_md_io_acct_orig_bio)
#ifdef RCP_HAS_md_io_clone_orig_bio
	struct md_io_clone *clone = NULL;
#else
	struct md_io_acct *clone = NULL; /* before v6.6 */
#endif
	struct bio *whole = NULL;

	bpf_probe_read_kernel(&clone, sizeof(clone), &bio->bi_private);
	bpf_probe_read_kernel(&whole, sizeof(whole), &clone->orig_bio);
	if (whole && origin_of_bio(whole, found))
		return 1;
#endif
	return origin_of_bio(bio, found);
}

KFUNC_PROBE(handle_stripe, void *argument)
{
	struct stripe_head *stripe = NULL;
	struct origin origin = {};
	struct bio *bio;

	if (is_paused())
		return 0;
	/* as a number, for the verifier */
	bpf_probe_read_kernel(&stripe, sizeof(stripe), &argument);
	bio = bio_of_stripe(stripe);
	if (!bio || !origin_of_part(bio, &origin))
		return 0;
	origin.mapping = 0;
	return begin_serving(RCP_LAYER_STRIPE, 0, &origin);
}

KRETFUNC_PROBE(handle_stripe)
{
	return end_serving(RCP_LAYER_STRIPE);
}
#endif
