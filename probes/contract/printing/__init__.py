"""What commands print: text for people that gives a terminal no orders, JSON for programs."""
