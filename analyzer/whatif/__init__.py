"""What if some work had not been there, or a device had been faster: predicted latencies."""
