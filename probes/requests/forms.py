"""How requests are written on command lines."""

FORMS = (
    "syscall:NAME[,NAME…], usdt:BIN:PROVIDER:BEGIN,END, uprobe:BIN:FUNCTION, "
    "uprobe:BIN:BEGIN,END, socket or postgresql"
)
