/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages that a task drops from memory, and reads of the same file by others afterwards. Who drops
 * pages on purpose (posix_fadvise, /proc/sys/vm/drop_caches) or by a direct write leaves no shadow
 * of them, as eviction does (refault.h). So each drop is recorded, and then the reads of that file:
 *
 *   backup    drops pages 0 to 255
 *   reader                          queues a bio for page 7
 */

/* Who dropped pages last, by the address of the page cache. LRU: of many, those are forgotten that
 * are neither dropped nor read. */
BPF_TABLE("lru_hash", u64, u32, droppers, 16384);
/* Not 0 once pages were dropped: until then, ios pay for the look at this only. */
BPF_ARRAY(drops_seen, int, 1);

/* The place in its file of the first page of a bio from the page cache. */
static inline u64 first_page_of(struct bio *bio)
{
	struct bio_vec vec = {};
	unsigned long index = 0;
	struct folio *folio;
	u64 page, bytes;

	bpf_probe_read_kernel(&vec, sizeof(vec), &bio->bi_io_vec[bio->bi_iter.bi_idx]);
	page = (u64)vec.bv_page;
	folio = folio_of(page);
	bpf_probe_read_kernel(&index, sizeof(index), &folio->index);
	bytes = vec.bv_offset + bio->bi_iter.bi_bvec_done;
	return index + (page - (u64)folio) / sizeof(struct page) + bytes / PAGE_SIZE;
}

/* At the queueing of a bio that reads, with its final submitter and time. */
static inline void record_read_again(struct bio_state *state, struct bio *bio)
{
#ifdef RCP_PROBE_page_drop
	int zero = 0, *seen = drops_seen.lookup(&zero);
	struct read_again_record event = {};
	struct inode_state *inode;
	u64 mapping = state->mapping;
	u32 *dropper;

	if (!seen || !*seen || !mapping)
		return;
	dropper = droppers.lookup(&mapping);
	if (!dropper || *dropper == state->tid)
		return;
	inode = inode_of(mapping);
	if (!inode)
		return;
	event.ts = state->queued_ns;
	event.ino = inode->ino;
	event.dev = inode->dev;
	event.first_page = first_page_of(bio);
	event.tid = state->tid;
	event.n_pages = (state->bytes + PAGE_SIZE - 1) / PAGE_SIZE;
	count_output(read_again_ring.ringbuf_output(&event, sizeof(event), RCP_NO_WAKEUP),
		     REC_READ_AGAIN);
#endif
}
