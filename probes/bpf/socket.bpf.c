// SPDX-License-Identifier: Apache-2.0
/*
 * Messages on sockets and pipes. Who sends one and then sleeps may wait for an answer, whether the
 * message has woken somebody or has come to a server that is busy. Who receives several before it
 * sends any may answer them all with one piece of work.
 *
 * Requests received on a stream socket: one begins when a thread receives bytes, and ends when it
 * sends on the same connection. A thread may have several open requests.
 */
static inline int note_sent(int sent, u32 queue)
{
	struct task_state *state = sent > 0 ? known_state() : NULL;
	u16 messages;

	if (sent > 0) /* also of tasks that are not recorded */
		set_sender(queue);
	if (!state)
		return 0;
	queue = queue ?: RCP_NO_ONE_QUEUE;
	messages = state->messages;
	if (messages & RCP_SLEEP_HAS_SENT && messages & RCP_SLEEP_RECEIVED)
		messages |= RCP_SLEEP_RECEIVED_BETWEEN;
	messages &= ~(RCP_SLEEP_RECEIVED | RCP_SLEEP_RECEIVED_SEVERAL);
	state->messages = messages | RCP_SLEEP_HAS_SENT;
	if (state->sent_to != queue)
		state->sent_before = state->sent_to;
	state->sent_to = queue;
	return 0;
}

static inline int note_received(int received, u32 queue)
{
	struct task_state *state = received > 0 ? known_state() : NULL;

	if (!state)
		return 0;
	if (state->messages & RCP_SLEEP_RECEIVED)
		state->messages |= RCP_SLEEP_RECEIVED_SEVERAL;
	state->messages |= RCP_SLEEP_RECEIVED;
	state->sender_tid = sender_of(queue);
	if (!queue || (state->received_from && state->received_from != queue))
		queue = RCP_NO_ONE_QUEUE;
	state->received_from = queue;
	return 0;
}

#if defined(RCP_HAVE_pipe_write) || defined(RCP_HAVE_anon_pipe_write)
/* Who waits for room in a full pipe waits for what others have written to that pipe. */
static inline int begin_pipe_write(struct kiocb *iocb)
{
	struct task_state *state = known_state();
	u64 inode = pipe_of(iocb->ki_filp);

	set_sender(queue_of_pipe(inode)); /* before anybody can read it */
	if (state)
		state->pipe = inode;
	return 0;
}

static inline int end_pipe_write(long sent)
{
	struct task_state *state = known_state();
	u32 queue;

	if (!state)
		return 0;
	queue = queue_of_pipe(state->pipe);
	state->pipe = 0;
	return note_sent(sent, queue);
}
#endif

#ifdef RCP_HAVE_pipe_write
KFUNC_PROBE(pipe_write, struct kiocb *iocb)
{
	return begin_pipe_write(iocb);
}

KRETFUNC_PROBE(pipe_write, void *iocb, void *from, long sent)
{
	return end_pipe_write(sent);
}
#endif

#ifdef RCP_HAVE_anon_pipe_write
KFUNC_PROBE(anon_pipe_write, struct kiocb *iocb)
{
	return begin_pipe_write(iocb);
}

KRETFUNC_PROBE(anon_pipe_write, void *iocb, void *from, long sent)
{
	return end_pipe_write(sent);
}
#endif

#if defined(RCP_HAVE_pipe_read) || defined(RCP_HAVE_anon_pipe_read)
static inline int end_pipe_read(struct file *file, long received)
{
	return note_received(received, queue_of_pipe(pipe_of(file)));
}
#endif

#ifdef RCP_HAVE_pipe_read
KRETFUNC_PROBE(pipe_read, struct kiocb *iocb, void *to, long received)
{
	return end_pipe_read(iocb->ki_filp, received);
}
#endif

#ifdef RCP_HAVE_anon_pipe_read
KRETFUNC_PROBE(anon_pipe_read, struct kiocb *iocb, void *to, long received)
{
	return end_pipe_read(iocb->ki_filp, received);
}
#endif

#if RCP_SOCKET_REQUESTS
static inline void begins_request(struct sock *sk, int received)
{
	struct open_key key = { .object = (u64)sk,
				.tid = (u32)bpf_get_current_pid_tgid(),
				.nr = RCP_SOCKET_REQUEST_NR };
	struct task_state *state = current_state();
	struct open_request fresh = {};

	if (!state || !(state->flags & RCP_TASK_IS_TARGET))
		return;
	if (received == 0) /* the peer closed: it does not wait for an answer */
		open_requests.delete(&key);
	/* further bytes belong to the open request */
	if (received <= 0 || sk->sk_type != SOCK_STREAM || open_requests.lookup(&key))
		return;
	fresh.ts = bpf_ktime_get_ns();
	open_requests.update(&key, &fresh);
}

static inline void answers_request(struct sock *sk, int sent)
{
	struct open_key key = { .object = (u64)sk,
				.tid = (u32)bpf_get_current_pid_tgid(),
				.nr = RCP_SOCKET_REQUEST_NR };
	struct open_request *open = open_requests.lookup(&key);

	if (open && sent > 0)
		end_open_request(&key, open, sent);
}
#else
static inline void begins_request(struct sock *sk, int received)
{
}

static inline void answers_request(struct sock *sk, int sent)
{
}
#endif

RAW_TRACEPOINT_PROBE(sock_recv_length)
{
	/* all at first: the verifier takes no address within the context */
	struct sock *sk = (struct sock *)ctx->args[0];
	int received = (int)ctx->args[1];
	u32 flags = ctx->args[2];

	if (flags & (MSG_PEEK | MSG_ERRQUEUE))
		return 0;
	begins_request(sk, received);
	return note_received(received, queue_of_socket(sk, 0));
}

RAW_TRACEPOINT_PROBE(sock_send_length)
{
	struct sock *sk = (struct sock *)ctx->args[0];
	int sent = (int)ctx->args[1];

	answers_request(sk, sent);
	return note_sent(sent, queue_of_socket(sk, 1));
}
