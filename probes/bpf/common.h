/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by all probes: filters, counters and the state of each task. The records and their
 * rings are in events.h.
 *
 * program.py joins the files into one unit, so that all probes share these maps.
 *
 * Filters come in as macros (program.py:cflags):
 *   RCP_SELF_PID        the recorder, never recorded
 *   RCP_TARGET_ALL      1: every user process is a target
 *   RCP_TARGET_CGROUP   cgroup v2 id whose tasks are targets, 0: none
 *   RCP_TARGET_LEVEL    depth of that cgroup below the root
 *   RCP_GLOB_START, RCP_GLOB_LOOP, RCP_GLOB_ACCEPT   see comm_matches()
 *   RCP_*_PAGES         ring sizes in pages, powers of two
 *   RCP_STACKS          distinct stacks at most
 */
BPF_PERCPU_ARRAY(written, u64, REC_COUNT);
BPF_PERCPU_ARRAY(lost, u64, REC_COUNT);
BPF_PERCPU_ARRAY(excluded, u64, REC_COUNT);

/* The recorder drains on a timer; a wake-up per event would cost 3 us each. */
#define RCP_NO_WAKEUP 1 /* BPF_RB_NO_WAKEUP */

static inline void count_output(int failed, u32 record)
{
	if (failed)
		lost.increment(record);
	else
		written.increment(record);
}

/* What a task waits for; set by the annotating probes before it sleeps. */
struct wait_note {
	u64 object;
	u64 ino;
	u32 dev;
	u32 owner_tid;
	u16 reason;
	u16 flags; /* RCP_SLEEP_OWNER_GUESSED, NOTE_FOR_ONE_SLEEP */
	u32 unused;
};

/* No hook shows the end of this wait, but its sleep is certain to be the task's next one. */
#define NOTE_FOR_ONE_SLEEP (1 << 15)

/* A kernel thread waits in two or three places, jbd2 in four. */
#define KNOWN_STACKS 4

struct task_state {
	/* the off-CPU interval under way; sleep_ts is 0 while the task runs */
	u64 sleep_ts;
	u64 woken_ns;
	u64 waker_io;
	u32 waker_tid;
	s32 stack_id;
	u16 sleep_flags;
	u16 wake_flags;
	/* its last stacks, by place of the sleep (sleep.bpf.c:stack_of_sleep) */
	u64 stack_places[KNOWN_STACKS];
	s32 known_stacks[KNOWN_STACKS];
	u8 n_known_stacks;
	u8 is_placed; /* its cgroups are recorded */
	u16 messages; /* since it last slept: RCP_SLEEP_HAS_SENT, RCP_SLEEP_RECEIVED* */
	/* who it is */
	u32 flags; /* RCP_TASK_IS_* */
	u32 pid;
	u32 inner_tid; /* tid in its own pid namespace, 0 when that is the outermost */
	u32 request_nr;
	/* what it does; the note does not change while the task sleeps */
	struct wait_note note;
	u64 lock_ts;
	u64 lock;
	u32 lock_owner_tid;
	u32 lock_type;
	u32 lock_owner_flags; /* RCP_SLEEP_OWNER_GUESSED, RCP_SLEEP_ONE_READER */
	s32 lock_stack_id;
	u64 handle_ts;
	u64 request_ts;
	u64 request_arg0;
	u64 pipe; /* inode of the pipe that it writes to */
	/* since it last slept: queues of messages (message_queue.h), 0 for none */
	u32 sent_to; /* the last one */
	u32 sent_before; /* the one before that */
	u32 received_from;
	u32 sender_tid; /* of the last message received */
};

/* attach.py reads these */
_Static_assert(__builtin_offsetof(struct task_state, request_nr) == 104, "request_nr");
_Static_assert(__builtin_offsetof(struct task_state, request_ts) == 184, "request_ts");
_Static_assert(__builtin_offsetof(struct task_state, request_arg0) == 192, "request_arg0");
_Static_assert(sizeof(struct task_state) == 224, "task_state");

/* At most 65536 live tasks; further ones are not recorded and count as lost. */
BPF_HASH(tasks, u32, struct task_state, 65536);
BPF_HASH(target_pids, u32, u8, 65536);

/*
 * State of the current task; NULL until it is first switched in (sleep.bpf.c). The programs that
 * note waits do not create it, because that code in each of them would dominate compile time. So
 * a task that ran when the recording began has no note for its first wait.
 */
static inline struct task_state *known_state(void)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();

	return tasks.lookup(&tid);
}

/* End a wait for this reason; keep the note of an enclosing wait. */
static inline int end_wait_for(u16 reason)
{
	struct task_state *state = known_state();

	if (state && state->note.reason == reason)
		state->note = (struct wait_note){};
	return 0;
}

static inline int end_wait(void)
{
	struct task_state *state = known_state();

	if (state)
		state->note = (struct wait_note){};
	return 0;
}
