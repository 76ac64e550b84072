"""Error rates of the gate and its peers on simulated runs."""
