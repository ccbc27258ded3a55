"""Team memory."""
