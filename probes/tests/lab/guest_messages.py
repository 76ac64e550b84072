"""Part of guest_waits.py: waits for clocks, children and messages, of who asked for them or not."""

import os
import select
import socket
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from rcp.probes.tests.lab.guest_tasks import Work, end, task
    from rcp.probes.tests.lab.guest_watch import seen, truth
else:
    from guest_tasks import end, task
    from guest_watch import seen, truth


def outside() -> None:
    """Clocks, pipes, sockets, polls, children."""
    read, write = os.pipe()
    poll, epoll = select.poll(), select.epoll()
    poll.register(read, select.POLLIN)
    epoll.register(read, select.EPOLLIN)

    def go() -> None:
        os.write(write, b".")

    def once(wait: "Work") -> "Work":
        return lambda: (wait(), os.read(read, 1))

    seen("timer", "hrtimer_nanosleep", lambda: time.sleep(0.03))
    seen("pipe", "(anon_)?pipe_read", lambda: os.read(read, 1), go)
    seen("poll", "do_sys_poll", once(poll.poll), go)
    seen("epoll", "do_epoll_wait", once(epoll.poll), go)
    seen("select", "do_select", once(lambda: select.select([read], [], [])), go)
    here, there = socket.socketpair()
    seen("unix", "unix_stream_read_generic", lambda: there.recv(1), lambda: here.send(b"."))
    listener = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(listener.getsockname())
    server, _ = listener.accept()
    truth["sender"] = {"pid": os.getpid()}
    seen("tcp", "tcp_recvmsg", lambda: server.recv(1), lambda: client.send(b"."))
    seen("child", "do_wait", lambda: end(task("grandchild", lambda: time.sleep(0.03))))
    asks(here, there)
    asks(client, server)
    takes()
    queues("unix", here.send, there.recv, there.send)
    queues("tcp", client.send, server.recv, server.send)
    seen("sends-both", "hrtimer_nanosleep", after(lambda: [here.send(b"."), client.send(b".")]))
    queues("pipe", lambda text: os.write(write, text), lambda n: os.read(read, n))
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    queues("dgram", one.send, other.recv)
    for name, family, to in (("tcp6", socket.AF_INET6, "::1"), ("mapped", socket.AF_INET, "")):
        listener = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
        client = socket.socket(family)
        client.connect((to or "127.0.0.1", listener.getsockname()[1]))
        server, _ = listener.accept()
        queues(name, client.send, server.recv, server.send)


def asks(here: socket.socket, there: socket.socket) -> None:
    """Waits of tasks that have sent a message, and that have slept since then."""
    kind = "unix" if there.family == socket.AF_UNIX else "tcp"
    function = {"unix": "unix_stream_read_generic", "tcp": "tcp_recvmsg"}[kind]
    into, out = os.pipe(), os.pipe()

    def ask(pause_s: float = 0) -> None:
        there.send(b"?")
        if pause_s:
            time.sleep(pause_s)
        there.recv(1)

    def ask_by_pipe() -> None:
        os.write(into[1], b"?")
        os.read(out[0], 1)

    seen(f"asks-{kind}", function, ask, lambda: here.send(b"."))
    seen(f"slept-{kind}", function, lambda: ask(0.005), lambda: here.send(b"."))
    by_pipe = f"asks-pipe-{kind}"
    seen(by_pipe, "(anon_)?pipe_read", ask_by_pipe, lambda: os.write(out[1], b"."))


def takes() -> None:
    """Sleeps of tasks that have taken messages, each of them one of a queue, and sent some."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    into = os.pipe()

    def takes(name: str, *does: "Work") -> None:
        for _ in range(2):
            here.send(b".")
            os.write(into[1], b".")
        seen(name, "hrtimer_nanosleep", lambda: [work() for work in (*does, nap)])
        for file in (there.fileno(), here.fileno(), into[0]):
            while readable(file):
                os.read(file, 1)

    def send() -> None:
        there.send(b"!")

    def receive() -> None:
        there.recv(1)

    def read() -> None:
        os.read(into[0], 1)

    takes("takes-one", receive)
    takes("takes-one-pipe", read)
    takes("takes-two", receive, read)
    takes("takes-answers", receive, receive, send)
    takes("takes-between", send, receive, send)
    takes("takes-again", receive, send, receive)
    takes("peeks", lambda: there.recv(1, socket.MSG_PEEK))


def nap() -> None:
    """Sleep for a while."""
    time.sleep(0.03)


def after(work: "Work") -> "Work":
    """Return work that sleeps then."""

    def go() -> None:
        work()
        nap()

    return go


def queues(
    kind: str,
    send: "Callable[[bytes], object]",
    receive: "Callable[[int], object]",
    answer: "Callable[[bytes], object] | None" = None,
) -> None:
    """Who sends a message, who takes it, and who answers, each before a sleep."""
    function = "hrtimer_nanosleep"
    seen(f"sends-{kind}", function, after(lambda: send(b".")))
    seen(f"gets-{kind}", function, after(lambda: receive(1)))
    if answer is not None:
        seen(f"answers-{kind}", function, after(lambda: answer(b".")))


def readable(file: int) -> bool:
    """Whether there is anything to take."""
    return bool(select.select([file], [], [], 0)[0])
