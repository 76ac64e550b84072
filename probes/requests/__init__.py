"""From ``--request SPEC`` to the functions, probes and syscalls that begin and end a request."""
