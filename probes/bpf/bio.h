/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bios from when they are submitted to when a request that has them is issued: who submitted
 * them and when, and whose pages they carry.
 */

struct bio_state {
	u64 queued_ns;
	u64 got_ns;
	u64 mapping; /* page cache its first page belongs to, or nothing of sense (inode.h) */
	u64 blkg;
	u32 tid;
	u32 bytes;
	u32 flags;
	u32 unused;
};

/* In bio_state.flags: submitted, but not queued yet, so its submitter and time are known. */
#define BIO_IS_HELD (1U << 31)

/* LRU: bios of drivers without requests (dm, md) never finish here. */
BPF_TABLE("lru_hash", u64, struct bio_state, bios, 65536);
/* Not 0 once blk-throttle was asked about a bio (io_hold.bpf.c): without limits it never is. */
BPF_ARRAY(holds_bios, int, 1);

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
