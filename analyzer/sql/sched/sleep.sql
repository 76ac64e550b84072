CREATE TABLE sleep (
    sleep_id INTEGER,
    utid INTEGER,
    ts BIGINT,
    dur BIGINT,
    woken_ns BIGINT,
    run_ns BIGINT,
    reason VARCHAR,
    object UBIGINT,
    owner_utid INTEGER,
    is_owner_guessed BOOLEAN,
    is_one_reader BOOLEAN,
    is_cpu_max BOOLEAN,
    has_sent BOOLEAN,
    n_received UTINYINT,
    received_between BOOLEAN,
    sent_to UINTEGER,
    sent_before UINTEGER,
    received_from UINTEGER,
    sender_utid INTEGER,
    dev BIGINT,
    ino UBIGINT,
    waker_utid INTEGER,
    waker_io UBIGINT,
    waker_context VARCHAR,
    stack_id INTEGER,
    cpu INTEGER,
    ran_utid INTEGER,
    is_uninterruptible BOOLEAN,
    is_preempted BOOLEAN,
    is_first_seen BOOLEAN
);

COMMENT ON TABLE sleep IS 'finished off-CPU intervals of threads: asleep in [ts, ts + dur), then runnable until run_ns';
COMMENT ON COLUMN sleep.sleep_id IS 'key, in recorded order, from 1';
COMMENT ON COLUMN sleep.utid IS 'the sleeper';
COMMENT ON COLUMN sleep.ts IS 'left the CPU, NULL for the first record of a thread';
COMMENT ON COLUMN sleep.dur IS 'ns asleep, 0 when preempted, NULL for the first record of a thread';
COMMENT ON COLUMN sleep.woken_ns IS 'made runnable';
COMMENT ON COLUMN sleep.run_ns IS 'on a CPU again';
COMMENT ON COLUMN sleep.reason IS 'what it waited for, from the annotating probe or the kernel stack';
COMMENT ON COLUMN sleep.object IS 'address of the lock, journal, page, buffer or futex waited for, NULL when not known';
COMMENT ON COLUMN sleep.owner_utid IS 'lock owner or journal thread when the wait began';
COMMENT ON COLUMN sleep.is_owner_guessed IS 'the owner is a guess: a word of user memory that looks like the owner field of a glibc lock';
COMMENT ON COLUMN sleep.is_one_reader IS 'it waited to write, and one reader had the lock when the wait began: who releases it is the one';
COMMENT ON COLUMN sleep.has_sent IS 'it had sent a message to a socket or pipe since it last slept, so it may wait for an answer';
COMMENT ON COLUMN sleep.n_received IS 'how often it had received from sockets and pipes since it last slept or sent a message; 2 stands for more, too';
COMMENT ON COLUMN sleep.received_between IS 'it had received a message between two that it sent since it last slept';
COMMENT ON COLUMN sleep.sent_to IS 'number of the queue, of a socket or pipe, to which it last sent a message since it last slept; that of the answers differs in the lowest bit; 1 where it is not known';
COMMENT ON COLUMN sleep.sent_before IS 'number of the queue to which it had sent before that one';
COMMENT ON COLUMN sleep.received_from IS 'number of the queue from which it had received since it last slept; 1 for several, or where it is not known';
COMMENT ON COLUMN sleep.sender_utid IS 'thread that sent what it had received last';
COMMENT ON COLUMN sleep.is_cpu_max IS 'from woken_ns to run_ns it mostly waited because its cgroup, or one above, had used up its cpu.max';
COMMENT ON COLUMN sleep.dev IS 'file system of the inode or journal waited for, major << 20 | minor';
COMMENT ON COLUMN sleep.ino IS 'inode whose page was waited for';
COMMENT ON COLUMN sleep.waker_utid IS 'thread that made it runnable, NULL when an interrupt did';
COMMENT ON COLUMN sleep.waker_io IS 'io whose completion made it runnable';
COMMENT ON COLUMN sleep.waker_context IS 'where the wake-up came from: task, hardirq or softirq';
COMMENT ON COLUMN sleep.stack_id IS 'kernel stack it slept in';
COMMENT ON COLUMN sleep.cpu IS 'CPU it ran on afterwards';
COMMENT ON COLUMN sleep.ran_utid IS 'thread that had this CPU right before the sleeper, NULL when the CPU was idle or the thread was not seen';
COMMENT ON COLUMN sleep.is_uninterruptible IS 'slept in the D state';
COMMENT ON COLUMN sleep.is_preempted IS 'did not sleep but was preempted';
COMMENT ON COLUMN sleep.is_first_seen IS 'first record of the thread: its state before run_ns is not known';
