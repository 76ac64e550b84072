// SPDX-License-Identifier: Apache-2.0
/*
 * Fills a ring with sleep records for `python -m rcp.probes.bench.ring_drain`: RCP_BENCH_BURST at
 * each getppid() of the bench.
 */
#include <linux/types.h>
#define RCP_WITHOUT_RINGS /* the bench has a ring of its own */
#include "events.h"

BPF_RINGBUF_OUTPUT(bench_ring, RCP_BENCH_PAGES);
BPF_ARRAY(refused, u64, 1);

int burst(void *ctx)
{
	struct sleep_record event = {};

	if (bpf_get_current_pid_tgid() >> 32 != RCP_SELF_PID)
		return 0;
	for (int i = 0; i < RCP_BENCH_BURST; i++) {
		event.ts = bpf_ktime_get_ns();
		event.tid = i;
		if (bench_ring.ringbuf_output(&event, sizeof(event), 1 /* BPF_RB_NO_WAKEUP */))
			refused.increment(0);
	}
	return 0;
}
