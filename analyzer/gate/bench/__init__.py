"""How often the gate and its peers are wrong, on simulated runs."""
