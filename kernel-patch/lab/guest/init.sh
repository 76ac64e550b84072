#!/bin/sh
# The guest's init: prepares the machine, runs the command, writes artefacts and the exit status
# to the output disk, powers off. Lines "rcp-lab: stage NAME SECONDS" tell the host how far it is.

# shellcheck source=/dev/null
. /run/rcp/in/lab.env

uptime_s() {
    read -r up _ < /proc/uptime
    echo "$up"
}

stage() {
    echo "rcp-lab: stage $1 $(uptime_s)"
}

mount_all() {
    for folder in /tmp /var/tmp /var/log /usr/local /root /home /mnt; do
        mount -t tmpfs tmpfs $folder
    done
    chmod 1777 /tmp /var/tmp
    mkdir -p /dev/pts /dev/shm
    mount -t devpts devpts /dev/pts
    mount -t tmpfs tmpfs /dev/shm
    ln -s /proc/self/fd /dev/fd
    for number in 0:stdin 1:stdout 2:stderr; do
        ln -s "/proc/self/fd/${number%%:*}" "/dev/${number#*:}"
    done
    # A kernel of our own brings its modules, and its headers, with it.
    [ ! -d /run/rcp/in/kernel ] || mount --bind /run/rcp/in/kernel /lib/modules
    modprobe -q configfs
    mount -t configfs configfs /sys/kernel/config
    mount -t debugfs debugfs /sys/kernel/debug
    mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
    mount -t bpf bpf /sys/fs/bpf
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
    # The root is read-only; these are the places where programs expect to write.
    mkdir -p /run/lock
    hostname rcp-lab
    ip link set lo up
}

# The host has unpacked the wheel: starting an installer here would take several seconds.
install_project() {
    python=$(readlink /usr/bin/python3)
    mkdir -p "/usr/local/lib/$python"
    ln -s /run/rcp/in/project/site "/usr/local/lib/$python/dist-packages"
    ln -s /run/rcp/in/project/bin /usr/local/bin
}

power_off() {
    sync
    echo 1 > /proc/sys/kernel/sysrq
    echo o > /proc/sysrq-trigger
    sleep 3600
}

# The exit status is the last member: a tar cut short has none, and the host calls that lost.
save() {
    status=/run/rcp/status
    mkdir -p $status
    echo "$1" > $status/exit-status
    {
        echo "kernel $(uname -r)"
        echo "command_start_s $started"
        echo "command_end_s $ended"
    } > $status/facts
    dmesg > $status/dmesg.txt
    # 1: a file changed while it was read, which a daemon left running may cause.
    tar -c -b 2048 -f "$RCP_LAB_OUTPUT_DISK" -C /run/rcp/out . -C $status dmesg.txt facts exit-status
    if [ $? -gt 1 ]; then
        : > $status/artefacts-lost
        tar -c -f "$RCP_LAB_OUTPUT_DISK" -C $status dmesg.txt facts artefacts-lost exit-status
    fi
}

# A daemon started by the command may hold the pipes open for ever, so wait for a while only.
drain() {
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        kill -0 "$1" 2> /dev/null || kill -0 "$2" 2> /dev/null || return 0
        sleep 0.5
    done
    kill "$1" "$2" 2> /dev/null
}

# In virtual time the command starts at the same instant of every run, however long the input
# took to unpack: idling until then costs nothing. A shift of N starts it N * 137 us later: a run
# repeats to the digit only while nothing in the guest changes, and this is the smallest change.
align_clock() {
    [ "$RCP_LAB_VIRTUAL_TIME" = 1 ] || return 0
    export PYTHONHASHSEED=0
    python3 -c "
import time
time.sleep(-time.monotonic() % $1 + $RCP_LAB_SHIFT * 137e-6)"
}

# A shift of N also has N more pages in use.
take_pages() {
    [ "$RCP_LAB_SHIFT" = 0 ] || head -c "$((RCP_LAB_SHIFT * 4096))" /dev/zero > /dev/shm/rcp-lab-shift
}

run_command() {
    # Pipes in between: to the command its output must not look like a terminal.
    mkfifo /run/rcp/stdout /run/rcp/stderr
    stty -F /dev/ttyS1 raw
    stty -F /dev/ttyS2 raw
    cat /run/rcp/stdout > /dev/ttyS1 &
    out=$!
    cat /run/rcp/stderr > /dev/ttyS2 &
    err=$!
    take_pages
    align_clock 5
    started=$(uptime_s)
    stage running
    (cd "$RCP_LAB_CWD" && exec bash /run/rcp/in/command.sh) \
        < /dev/null > /run/rcp/stdout 2> /run/rcp/stderr
    result=$?
    ended=$(uptime_s)
    stage finished
    drain $out $err
}

run_shell() {
    started=$(uptime_s)
    stty -F /dev/ttyS0 sane rows "${RCP_LAB_ROWS:-24}" cols "${RCP_LAB_COLS:-80}"
    (cd "$RCP_LAB_CWD" && exec setsid --ctty --wait bash -i < /dev/ttyS0 > /dev/ttyS0 2>&1)
    result=$?
    ended=$(uptime_s)
}

stage up
mount_all
for module in $RCP_LAB_MODULES; do
    # One of ours, built for the stock kernel, or one of the kernel's own.
    if [ -f "/run/rcp/in/modules/$module.ko" ]; then
        insmod "/run/rcp/in/modules/$module.ko"
    else
        modprobe "$module"
    fi || echo "rcp-lab: module $module did not load"
done
install_project
if [ -n "$RCP_LAB_SHELL" ]; then
    run_shell
else
    run_command
fi
save "$result"
power_off
