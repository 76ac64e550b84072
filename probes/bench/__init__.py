"""What recording costs: draining the ring, and each BPF program."""
