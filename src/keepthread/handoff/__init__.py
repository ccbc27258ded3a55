"""The handoff document: facts, prompt, schema, audit, merge, rendering, store. Never calls an engine."""
