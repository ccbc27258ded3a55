"""Reading the host's transcript: bytes -> records -> what was said and done. Knows nothing of handoffs."""
