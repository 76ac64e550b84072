"""One trial: settings on a machine, a workload under a supervisor, a measurement."""
