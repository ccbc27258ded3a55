"""Answers to a summary request: one module per engine, and the ladder that tries them. Knows nothing of hooks."""
