/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bios from their submission until their request is issued: submitter, time, and the page cache
 * of their pages.
 */

struct bio_state {
	u64 queued_ns;
	u64 got_ns;
	u64 mapping; /* page cache of its first page, or garbage (checked in inode.h) */
	u64 blkg;
	u32 tid;
	u32 bytes;
	u32 flags;
	u32 unused;
};

/* In bio_state.flags: blk-throttle may delay it; submitter and time are those of submission. */
#define BIO_IN_THROTTLE (1U << 31)

/* LRU: bios of drivers without requests (dm, md) never finish here. */
BPF_TABLE("lru_hash", u64, struct bio_state, bios, 65536);
/* Not 0 once blk-throttle checked a bio (io_hold.bpf.c), which needs a limit to be set. */
BPF_ARRAY(throttle_used, int, 1);

static inline u64 mapping_of(struct bio *bio)
{
	struct bio_vec *vec = bio->bi_io_vec;
	struct folio *folio = NULL;
	u64 mapping = 0, head = 0;

	bpf_probe_read_kernel(&folio, sizeof(folio), &vec[bio->bi_iter.bi_idx].bv_page);
	bpf_probe_read_kernel(&head, sizeof(head), &((struct page *)folio)->compound_head);
	if (head & 1)
		folio = (struct folio *)(head - 1);
	bpf_probe_read_kernel(&mapping, sizeof(mapping), &folio->mapping);
	return mapping;
}
