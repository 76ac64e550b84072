/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers for the queues that messages go through. Both ends of a connection of this machine find
 * the same one, from the two sockets or from the two addresses. The queue of the other direction
 * differs from it in the lowest bit:
 *
 *   client    sent to 46      |~~~~~~~~~~~~~~~~~~| received from 47
 *   server         received from 46 | works | sent to 47
 *
 * Different queues may have one number by chance: they have 30 bits.
 */
/* In place of a number: several queues, or one that is not known. */
#define RCP_NO_ONE_QUEUE 1

/*
 * Who sent to a queue last: its number in the upper half, a tid in the lower. Of two queues with
 * the same place, the later one is known.
 */
#define SENDERS (1 << 16)

BPF_ARRAY(senders, u64, SENDERS);

/* Odd numbers, for multiplicative hashing (Knuth): the golden ratio's, and one more. */
#define QUEUE_MIX 0x9e3779b97f4a7c15ULL
#define QUEUE_MIX_OTHER 0xc2b2ae3d27d4eb4fULL

static inline u32 queue_of(u64 to, u64 from)
{
	u64 low = to < from ? to : from, high = to < from ? from : to;
	u64 mixed = low * QUEUE_MIX ^ (high * QUEUE_MIX_OTHER >> 1);

	mixed *= QUEUE_MIX;
	return ((u32)(mixed >> 32) & ~3U) | 2 | (to < from);
}

/* As a number: the verifier allows no hash of what it knows as a pointer. */
static inline u64 pipe_of(struct file *file)
{
	u64 inode = 0;

	bpf_probe_read_kernel(&inode, sizeof(inode), &file->f_inode);
	return inode;
}

static inline u32 queue_of_pipe(u64 inode)
{
	return inode ? queue_of(inode, 0) : 0;
}

#ifdef RCP_HAS_unix_sock_peer
static inline u32 queue_of_unix(struct sock *sk, int is_sent)
{
	u64 peer = 0, own = (u64)sk;

	bpf_probe_read_kernel(&peer, sizeof(peer), &((struct unix_sock *)sk)->peer);
	if (!peer && is_sent)
		return 0;
	/* many may send to one socket that is connected to none of them */
	if (sk->sk_type == SOCK_DGRAM)
		return queue_of(is_sent ? peer : own, 0);
	return peer ? queue_of(is_sent ? peer : own, is_sent ? own : peer) : 0;
}
#else
static inline u32 queue_of_unix(struct sock *sk, int is_sent)
{
	return 0;
}
#endif

#ifdef RCP_HAS_ipv6_pinfo_saddr
/* The low half of an IPv6 address is enough, and all there is of an IPv4 address in one. */
static inline u64 address_of(void *v6)
{
	u32 words[4] = {};

	bpf_probe_read_kernel(words, sizeof(words), v6);
	if (!words[0] && !words[1] && words[2] == NET_ORDER32(0xffff))
		return words[3];
	return ((u64)words[2] << 32 | words[3]) ^ words[1];
}
#endif

/*
 * Connections within a network namespace, such as those of sidecars on 127.0.0.1, may have the same
 * addresses as those within another one. Between two of them the ends know different ones.
 */
static inline u64 namespace_of(struct sock *sk, u64 own, u64 peer)
{
	u64 net = 0;

	if (own == peer || (own & 0xff) == 127)
		bpf_probe_read_kernel(&net, sizeof(net), &sk->__sk_common.skc_net);
	return net;
}

static inline u32 queue_of_inet(struct sock *sk, int is_sent)
{
	u64 own = sk->__sk_common.skc_rcv_saddr, peer = sk->__sk_common.skc_daddr, net;
	u16 dport = sk->__sk_common.skc_dport;

	if (!dport)
		return 0;
#ifdef RCP_HAS_ipv6_pinfo_saddr
	if (sk->__sk_common.skc_family == AF_INET6) {
		own = address_of(&sk->__sk_common.skc_v6_rcv_saddr);
		peer = address_of(&sk->__sk_common.skc_v6_daddr);
	}
#else
	if (sk->__sk_common.skc_family == AF_INET6)
		return 0;
#endif
	net = namespace_of(sk, own, peer) << 20;
	own = (own << 16 ^ sk->__sk_common.skc_num) + net;
	peer = (peer << 16 ^ NET_ORDER16(dport)) + net;
	return queue_of(is_sent ? peer : own, is_sent ? own : peer);
}

/* 0 where it is not known: neither Unix nor connected, or another kind. */
static inline u32 queue_of_socket(struct sock *sk, int is_sent)
{
	u16 family = sk->__sk_common.skc_family;

	if (family == AF_UNIX)
		return queue_of_unix(sk, is_sent);
	return family == AF_INET || family == AF_INET6 ? queue_of_inet(sk, is_sent) : 0;
}

static inline void set_sender(u32 queue)
{
	u32 place = (queue >> 1 ^ (queue & 1)) & (SENDERS - 1);
	u64 *sender = senders.lookup(&place);

	if (sender && queue)
		*sender = (u64)queue << 32 | (u32)bpf_get_current_pid_tgid();
}

static inline u32 sender_of(u32 queue)
{
	u32 place = (queue >> 1 ^ (queue & 1)) & (SENDERS - 1);
	u64 *sender = senders.lookup(&place);

	return sender && queue && *sender >> 32 == queue ? (u32)*sender : 0;
}
