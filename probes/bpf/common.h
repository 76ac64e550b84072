/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every probe shares: filters, rings, counters, and the state kept per task.
 *
 * The probes are compiled as one unit (program.py joins the files in the order of its list),
 * so that they share these maps.
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
#include "events.h"

/* Index of a record type in the counters; program.py reads them by the same order. */
enum rcp_record {
	REC_TASK,
	REC_SLEEP,
	REC_IO,
	REC_REQUEST,
	REC_LOCK_WAIT,
	REC_JOURNAL_COMMIT,
	REC_JOURNAL_HANDLE,
	REC_FILE,
	REC_IO_CAUSE,
	REC_THROTTLE,
	REC_CMDLINE,
	REC_POLICY_EVENT,
};

#define REC_COUNT 12

BPF_RINGBUF_OUTPUT(task_ring, RCP_TASK_PAGES);
BPF_RINGBUF_OUTPUT(sleep_ring, RCP_SLEEP_PAGES);
BPF_RINGBUF_OUTPUT(io_ring, RCP_IO_PAGES);
BPF_RINGBUF_OUTPUT(request_ring, RCP_REQUEST_PAGES);
BPF_RINGBUF_OUTPUT(lock_wait_ring, RCP_LOCK_WAIT_PAGES);
BPF_RINGBUF_OUTPUT(journal_commit_ring, RCP_JOURNAL_COMMIT_PAGES);
BPF_RINGBUF_OUTPUT(journal_handle_ring, RCP_JOURNAL_HANDLE_PAGES);
BPF_RINGBUF_OUTPUT(file_ring, RCP_FILE_PAGES);
BPF_RINGBUF_OUTPUT(io_cause_ring, RCP_IO_CAUSE_PAGES);
BPF_RINGBUF_OUTPUT(throttle_ring, RCP_THROTTLE_PAGES);
BPF_RINGBUF_OUTPUT(cmdline_ring, RCP_CMDLINE_PAGES);
BPF_RINGBUF_OUTPUT(policy_event_ring, RCP_POLICY_EVENT_PAGES);

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

/* What a task waits for, set by an annotator before it sleeps. */
struct wait_note {
	u64 object;
	u64 ino;
	u32 dev;
	u32 owner_tid;
	u16 reason;
	u16 flags; /* RCP_SLEEP_OWNER_GUESSED, NOTE_FOR_ONE_SLEEP */
	u32 unused;
};

/* Nothing tells when the wait is over, but its sleep is certain to be the task's next one. */
#define NOTE_FOR_ONE_SLEEP (1 << 15)

/* Kernel threads wait in two or three places over and over, jbd2 in four. */
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
	/* its last stacks by their places (sleep.bpf.c:stack_of_sleep) */
	u64 stack_places[KNOWN_STACKS];
	s32 known_stacks[KNOWN_STACKS];
	u32 n_known_stacks;
	/* who it is */
	u32 flags; /* RCP_TASK_IS_* */
	u32 pid;
	u32 inner_tid; /* tid in its own pid namespace, 0 when that is the outermost */
	u32 request_nr;
	/* what it is doing; a note does not change while its task sleeps */
	struct wait_note note;
	u64 lock_ts;
	u64 lock;
	u32 lock_owner_tid;
	u32 lock_type;
	u32 lock_owner_flags; /* RCP_SLEEP_OWNER_GUESSED */
	s32 lock_stack_id;
	u64 handle_ts;
	u64 request_ts;
	u64 request_arg0;
};

/* 65536 tasks alive at once; more are not recorded and counted as lost. */
BPF_HASH(tasks, u32, struct task_state, 65536);
BPF_HASH(target_pids, u32, u8, 65536);

/*
 * NULL until the current task was switched in for the first time (sleep.bpf.c). What notes waits
 * makes no state itself: that much code in each of its programs takes longest to compile, and of
 * a task that had the CPU since the recording began only the first wait goes without a note.
 */
static inline struct task_state *known_state(void)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();

	return tasks.lookup(&tid);
}

/* End a wait that may be a part of another, whose note is left alone then. */
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
