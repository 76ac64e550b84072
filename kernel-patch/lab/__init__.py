"""The lab: a Linux machine in deterministic virtual time (QEMU)."""
