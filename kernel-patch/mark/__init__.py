"""Mark tasks as critical or non-critical to the kernel: from Python, C or a shell."""
