"""What a session's transcript came to up to a byte offset, so that a compaction parses only what is new.

    from keepthread.handoff.facts_index.update import update
    update(transcript_path: str, session_id: str, state: str, secrets: Sequence[str] = ()) -> str

brings `<state>/sessions/<id>/facts-index` up to the last whole line of the transcript; it is for a detached process and
returns "unchanged", "appended", "rebuilt", "busy" (another process is at it; nobody is waited for) or "unreadable" (no
such transcript). It raises OSError when the state folder cannot be written.
"""
