/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is not recorded, by option or to save CPU. It is counted: as filtered (by option) or as
 * lost (to save CPU). The recorder changes struct rcp_settings while it records.
 *
 *   RCP_MIN_WAIT_NS   --min-wait; a macro, so that it holds from the first event
 */

struct rcp_settings {
	u64 shed_wait_ns; /* shorter sleeps are not recorded, to save CPU */
	u32 is_without_stacks;
	u32 is_paused;
};

BPF_ARRAY(settings, struct rcp_settings, 1);
BPF_PERCPU_ARRAY(filtered, u64, REC_COUNT);

static inline int is_paused(void)
{
	int zero = 0;
	struct rcp_settings *now = settings.lookup(&zero);

	return now && now->is_paused;
}

static inline int is_without_stacks(void)
{
	int zero = 0;
	struct rcp_settings *now = settings.lookup(&zero);

	return now && now->is_without_stacks;
}

/* Whether an off-CPU interval is too short to be recorded; if so, it is counted. */
static inline int is_too_short(u64 dur)
{
	int zero = 0;
	struct rcp_settings *now = settings.lookup(&zero);

	if (dur < RCP_MIN_WAIT_NS) {
		filtered.increment(REC_SLEEP);
		return 1;
	}
	if (now && dur < now->shed_wait_ns) {
		lost.increment(REC_SLEEP);
		return 1;
	}
	return 0;
}
