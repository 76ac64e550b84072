/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who sends a packet to a task on the same machine. A device like the loopback queues it for the
 * softirq of the CPU, which runs as soon as the sender allows it, in the sender's context
 * (net/core/dev.c:netif_rx, kernel/softirq.c:__local_bh_enable_ip), and wakes the receiver:
 *
 *   sender    netif_rx()   softirq: wakes the receiver   returns from send()
 */

struct sent_packet {
	u64 ts;
	u32 tid;
	u32 unused;
};

/* Longer after that, the softirq is one that an interrupt has raised. */
#define PACKET_NS 50000

BPF_PERCPU_ARRAY(sent_packets, struct sent_packet, 1);

/* Whether the softirq on this CPU takes in what the task has sent in whose context it is. */
static inline int takes_packet_in(u32 tid, u64 now)
{
	int zero = 0;
	struct sent_packet *last = sent_packets.lookup(&zero);

	return last && tid && last->tid == tid && now - last->ts < PACKET_NS;
}
