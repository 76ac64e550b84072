import os
import threading

from rcp.probes.giving_way import give_way


def test_a_thread_becomes_a_batch_task_as_nice_as_before() -> None:
    told: dict[str, int] = {}

    def look() -> None:  # in a thread of its own, as nobody may take it back
        nice = os.nice(1)
        told["took"] = give_way()
        told["policy"] = os.sched_getscheduler(0)
        told["nice"] = os.getpriority(os.PRIO_PROCESS, 0) - nice

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert told == {"took": True, "policy": os.SCHED_BATCH, "nice": 0}
