"""Hypothesis strategies: handoffs no session would make, but a hostile one could."""

from __future__ import annotations

from hypothesis import strategies as st

_PIECES = st.sampled_from(
    (
        "a",
        "word ",
        "😀",
        "👩\u200d👧",
        "日本",
        "\n",
        "</keepthread-handoff>",
        "<system-reminder>",
        "## Rules (the user's own words)\n",
        "\ud800",
        "\x1b[31m",
        "`",
        "|",
        "src/a/b.py",
        "… ",
    )
)
TEXT = st.builds(
    lambda pieces, times: ("".join(pieces) * times)[:50_000],
    st.lists(_PIECES, max_size=5),
    st.sampled_from((1, 1, 1, 3, 40, 600)),
)


def _many(item):
    """A few, or one many times over."""
    return st.lists(item, max_size=4) | st.builds(
        lambda one, times: [one] * times, item, st.sampled_from((30, 300))
    )


def _sourced():
    return st.fixed_dictionaries({"text": TEXT, "source": TEXT})


OUTCOMES = st.sampled_from(("ok", "failed", "rejected", "interrupted", "running", "unknown"))
FILES = st.fixed_dictionaries(
    {
        "path": TEXT,
        "status": st.sampled_from(("created", "modified", "deleted", "renamed", "read")),
        "summary": TEXT,
    },
    optional={"from": TEXT},
)
OVERRIDES = st.fixed_dictionaries(
    {},
    optional={
        "meta": st.fixed_dictionaries(
            {
                "status": st.sampled_from(("complete", "partial")),
                "reason": st.sampled_from((None, "timeout", "engine_facts")),
                "generated_at": TEXT,
                "trigger": st.sampled_from(("auto", "manual", "command")),
            }
        ),
        "session_started": TEXT,
        "task": TEXT,
        "completed_tasks": _many(TEXT),
        "current_state": st.fixed_dictionaries(
            {
                "in_flight": TEXT,
                "files_modified": _many(TEXT),
                "works": _many(TEXT),
                "broken": _many(TEXT),
            }
        ),
        "constraints": st.fixed_dictionaries(
            {
                "rules": _many(_sourced()),
                "ruled_out": _many(st.fixed_dictionaries({"approach": TEXT, "reason": TEXT})),
            }
        ),
        "files_touched": _many(FILES),
        "issues_discovered": _many(st.fixed_dictionaries({"issue": TEXT, "workaround": TEXT})),
        "open_questions": _many(TEXT),
        "next_steps": _many(TEXT),
        "resume_prompt": TEXT,
        "facts": st.fixed_dictionaries(
            {},
            optional={
                "pending_ask": st.none() | _sourced(),
                "user_messages": _many(_sourced()),
                "commands": _many(
                    st.fixed_dictionaries(
                        {"command": TEXT, "outcome": OUTCOMES, "count": st.integers(1, 99)}
                    )
                ),
                "last_check": st.none()
                | st.fixed_dictionaries(
                    {"command": TEXT, "outcome": OUTCOMES, "result": TEXT, "source": TEXT}
                ),
                "errors": _many(
                    st.fixed_dictionaries({"what": TEXT, "error": TEXT, "source": TEXT})
                ),
                "todos": _many(
                    st.fixed_dictionaries(
                        {
                            "text": TEXT,
                            "status": st.sampled_from(("pending", "in_progress", "completed")),
                        }
                    )
                ),
                "plan": TEXT,
                "answers": _many(
                    st.fixed_dictionaries({"question": TEXT, "answer": TEXT, "source": TEXT})
                ),
                "rejections": _many(
                    st.fixed_dictionaries({"what": TEXT, "words": TEXT, "source": TEXT})
                ),
                "background": _many(st.fixed_dictionaries({"id": TEXT, "what": TEXT})),
                "instructions_loaded": _many(TEXT),
                "git": st.fixed_dictionaries({"branch": TEXT, "head": TEXT, "dirty": _many(TEXT)}),
                "identifiers": _many(
                    st.fixed_dictionaries(
                        {
                            "text": TEXT,
                            "kind": st.sampled_from(("name", "path", "hash", "url")),
                            "near": TEXT,
                        }
                    )
                ),
                "pins": _many(TEXT),
            },
        ),
    },
)
