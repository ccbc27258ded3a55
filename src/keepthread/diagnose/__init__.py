"""Doctor, status and logs: read every room, change none."""
