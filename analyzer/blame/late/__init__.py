"""What requests lose because others that they wait for are late."""
