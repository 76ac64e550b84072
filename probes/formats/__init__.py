"""Binary formats that probes are resolved with: ELF and BTF. Pure."""
