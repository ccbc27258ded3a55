"""Fidelity: what sessions needed after a compaction, and how much of it each text still held."""
