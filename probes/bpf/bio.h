/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bios from their submission until their request is issued: submitter, time, and the page cache
 * of their pages.
 */

struct bio_state {
	u64 queued_ns;
	u64 got_ns;
	u64 mapping; /* page cache of the file it is of, or garbage (checked in inode.h), 0: none */
	u64 blkg;
	u32 tid;
	u32 bytes;
	u32 flags;
	u32 unused;
};

/* In bio_state.flags: blk-throttle may delay it; submitter and time are those of submission. */
#define BIO_IN_THROTTLE (1U << 31)

/* LRU: bios of drivers without requests never finish here, those of dm and md in bio_endio(). */
BPF_TABLE("lru_hash", u64, struct bio_state, bios, 65536);
/* Not 0 once blk-throttle checked a bio (io_hold.bpf.c), which needs a limit to be set. */
BPF_ARRAY(throttle_used, int, 1);

static inline int is_of_block_device(u64 mapping)
{
	struct inode *inode = NULL;
	u16 mode = 0;

	bpf_probe_read_kernel(&inode, sizeof(inode), &((struct address_space *)mapping)->host);
	bpf_probe_read_kernel(&mode, sizeof(mode), &inode->i_mode);
	return S_ISBLK(mode);
}

static inline struct folio *folio_of(u64 page)
{
	u64 head = 0;

	bpf_probe_read_kernel(&head, sizeof(head), &((struct page *)page)->compound_head);
	return (struct folio *)(head & 1 ? head - 1 : page);
}

/*
 * The page cache whose page the bio reads or writes. Direct I/O reads into, or writes from, a page
 * of the caller's: mostly anonymous memory, but maybe a page of another file that the caller mapped
 * (shared memory, a file as a buffer). The page cache itself marks its pages: those it writes are
 * under writeback, those it reads are locked. Only file systems' metadata, in the page cache of the
 * block device, is neither: its buffers are.
 */
static inline u64 mapping_of(struct bio *bio, int is_write)
{
	unsigned long flags = 0, mark = is_write ? 1UL << PG_writeback : 1UL << PG_locked;
	struct bio_vec *vec = bio->bi_io_vec;
	u64 mapping = 0, page = 0;
	struct folio *folio;

	bpf_probe_read_kernel(&page, sizeof(page), &vec[bio->bi_iter.bi_idx].bv_page);
	folio = folio_of(page);
	bpf_probe_read_kernel(&mapping, sizeof(mapping), &folio->mapping);
	if (!mapping || mapping & 3)
		return 0; /* anonymous memory has flags there (PAGE_MAPPING_FLAGS) */
	bpf_probe_read_kernel(&flags, sizeof(flags), &folio->flags);
	return flags & mark || is_of_block_device(mapping) ? mapping : 0;
}
