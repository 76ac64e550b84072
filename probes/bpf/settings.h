/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recorder may change while it records: what is left out, by wish or to save CPU.
 * Everything that is left out is counted, as filtered (asked for) or as lost (to save CPU).
 *
 *   RCP_MIN_WAIT_NS   shorter sleeps were not asked for; a macro, so that it holds from the first
 */

struct rcp_settings {
	u64 shed_wait_ns; /* shorter sleeps cost too much */
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

/* Tell whether an interval off the CPU is too short to be written, and count it. */
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
