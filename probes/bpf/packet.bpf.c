// SPDX-License-Identifier: Apache-2.0
/*
 * Packets that tasks send to others on the same machine (packet.h).
 */

RAW_TRACEPOINT_PROBE(netif_rx)
{
	struct completing_io *cpu = completion_here();
	int zero = 0;
	struct sent_packet *last = sent_packets.lookup(&zero);

	/* not one that is passed on, or an answer of the protocol */
	if (!last || !cpu || context_on(cpu) != CONTEXT_TASK)
		return 0;
	last->tid = (u32)bpf_get_current_pid_tgid();
	last->ts = bpf_ktime_get_ns();
	return 0;
}
