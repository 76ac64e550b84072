"""What ios take alone at a device, and when it is idle: what rules of blame compare with."""
