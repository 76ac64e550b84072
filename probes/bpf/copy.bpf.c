// SPDX-License-Identifier: Apache-2.0
/*
 * dm-snapshot copies a chunk before it is overwritten for the first time (drivers/md/dm-snap.c),
 * dm-thin a block that snapshots share (drivers/md/dm-thin.c). A worker of kcopyd's does one copy
 * after another, and notes on disk what dm-snapshot has copied. Each is for the bio that began it:
 *
 *   writer queues bio A at the origin -> start_copy() -> kcopyd reads the chunk, writes it to the
 *                                                        snapshot's disk -> A is queued below
 */

/* The bio that a task, or dm-thin's worker, maps now, by tid. */
BPF_HASH(mapped_bios, u32, struct origin, 1024);
/* By the copy (dm_snap_pending_exception, dm_thin_new_mapping), the context of kcopyd's job. */
BPF_TABLE("lru_hash", u64, struct origin, copies, 4096);

static inline int begin_mapping(struct bio *bio)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct origin origin = {};

	if (!is_paused() && owner_of_bio(bio, &origin))
		mapped_bios.update(&tid, &origin);
	return 0;
}

static inline int end_mapping(void)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();

	mapped_bios.delete(&tid);
	return 0;
}

#ifdef RCP_HAVE_origin_map
KFUNC_PROBE(origin_map, void *target, struct bio *bio)
{
	return begin_mapping(bio);
}

KRETFUNC_PROBE(origin_map)
{
	return end_mapping();
}
#endif

#ifdef RCP_HAVE_snapshot_map
KFUNC_PROBE(snapshot_map, void *target, struct bio *bio)
{
	return begin_mapping(bio);
}

KRETFUNC_PROBE(snapshot_map)
{
	return end_mapping();
}
#endif

static inline int begin_copy(u64 copy)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct origin *origin = mapped_bios.lookup(&tid);
	struct serving *serving = origin ? NULL : servings.lookup(&tid);

	/* the end of a copy may begin another one, for a snapshot with larger chunks */
	if (serving && serving->layer == RCP_LAYER_COPY && serving->origin.tid)
		origin = &serving->origin;
	if (origin)
		copies.update(&copy, origin);
	else
		copies.delete(&copy); /* an earlier copy at this address */
	return 0;
}

#ifdef RCP_HAVE_start_copy
KFUNC_PROBE(start_copy, u64 copy)
{
	return begin_copy(copy);
}
#endif

#ifdef RCP_HAVE_dm_kcopyd_prepare_callback
/* The bio has all of the chunk: nothing is copied, but kcopyd notes it. */
KFUNC_PROBE(dm_kcopyd_prepare_callback, void *client, void *function, u64 copy)
{
	return begin_copy(copy);
}
#endif

#if defined(RCP_HAVE_process_cell) && defined(RCP_HAS_dm_bio_prison_cell_holder)
/* dm-thin's worker does what needs a new block, bio by bio. */
KFUNC_PROBE(process_cell, void *thin, struct dm_bio_prison_cell *cell)
{
	struct bio *bio = NULL;

	bpf_probe_read_kernel(&bio, sizeof(bio), &cell->holder);
	return bio ? begin_mapping(bio) : 0;
}

KRETFUNC_PROBE(process_cell)
{
	return end_mapping();
}

#ifdef RCP_HAVE_get_next_mapping
KRETFUNC_PROBE(get_next_mapping, void *pool, u64 mapping)
{
	return begin_copy(mapping);
}
#endif
#endif

#ifdef RCP_HAS_kcopyd_job_master_job
/* A large copy has several jobs, whose master has its context, and completes last. */
static inline int begin_job(struct kcopyd_job *job, int completes)
{
	struct kcopyd_job *master = NULL;
	struct origin *origin;
	u64 copy = 0;

	bpf_probe_read_kernel(&master, sizeof(master), &job->master_job);
	bpf_probe_read_kernel(&copy, sizeof(copy), &master->context);
	origin = copies.lookup(&copy);
	if (origin && !is_paused())
		begin_serving(RCP_LAYER_COPY, 0, origin);
	if (completes && job == master)
		copies.delete(&copy);
	return 0;
}

#ifdef RCP_HAVE_run_io_job
KFUNC_PROBE(run_io_job, struct kcopyd_job *job)
{
	return begin_job(job, 0);
}

KRETFUNC_PROBE(run_io_job)
{
	return end_serving(RCP_LAYER_COPY);
}
#endif

#ifdef RCP_HAVE_run_complete_job
KFUNC_PROBE(run_complete_job, struct kcopyd_job *job)
{
	return begin_job(job, 1);
}

KRETFUNC_PROBE(run_complete_job)
{
	return end_serving(RCP_LAYER_COPY);
}
#endif
#endif
