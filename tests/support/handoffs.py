"""Whole handoff documents to render, merge, store and check."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, cast

from keepthread.handoff.model import Handoff

SESSION = "11111111-1111-4111-8111-111111111111"
POSITION = "0f8d6c1e-2f0b-5d62-9d0c-6f1f6f7a9b10"


def make_handoff(**overrides: Any) -> Handoff:
    """Return a complete, realistic handoff, a fresh copy each time.

    A dict given for a section is laid over it, level by level; anything else replaces what is there:
    `make_handoff(meta={"status": "partial"}, next_steps=[])`.
    """
    return cast(Handoff, _laid_over(deepcopy(_HANDOFF), overrides))


def make_partial(**overrides: Any) -> Handoff:
    """Return the computed form of the same session: what is on disk before a model has answered."""
    return cast(Handoff, _laid_over(dict(make_handoff(**_COMPUTED_ONLY)), overrides))


def make_empty(**overrides: Any) -> Handoff:
    """Return the handoff of a session nothing is known of."""
    return cast(Handoff, _laid_over(deepcopy(_EMPTY), overrides))


def _laid_over(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    for key, value in over.items():
        below = base.get(key)
        if isinstance(value, dict) and isinstance(below, dict):
            base[key] = _laid_over(below, value)
        else:
            base[key] = deepcopy(value)
    return base


_EMPTY: dict[str, Any] = {
    "meta": {
        "schema_version": 1,
        "session_id": SESSION,
        "project": "/home/dev/proj",
        "generated_at": "2026-11-01T10:12:45Z",
        "trigger": "auto",
        "ordinal": 1,
        "status": "partial",
        "reason": "no_transcript",
        "engine": "facts",
        "rungs": [],
        "transcript": {"path": "", "size": 0, "last_uuid": "", "skipped": 0},
        "usage": None,
        "cost_usd": None,
        "seconds": 0.0,
    },
    "session_started": "",
    "task": "",
    "completed_tasks": [],
    "current_state": {"in_flight": "", "files_modified": [], "works": [], "broken": []},
    "constraints": {"rules": [], "ruled_out": []},
    "files_touched": [],
    "issues_discovered": [],
    "open_questions": [],
    "next_steps": [],
    "resume_prompt": "",
    "facts": {
        "pending_ask": None,
        "user_messages": [],
        "commands": [],
        "last_check": None,
        "errors": [],
        "todos": [],
        "plan": "",
        "answers": [],
        "rejections": [],
        "background": [],
        "instructions_loaded": [],
        "git": {"branch": "", "head": "", "dirty": []},
        "identifiers": [],
        "pins": [],
        "tokens": 0,
    },
    "audit": {"checked": [], "failed": []},
}


def _said(text: str, number: int) -> dict[str, str]:
    return {"text": text, "source": f"5c3a1f00-0000-5000-8000-{number:012d}"}


_RULES = [
    _said("use httpie, never curl", 3),
    _said("Never touch src/billing/legacy.py, it is frozen until the audit is over.", 9),
    _said("Kommentare bitte auf Englisch, Commit-Nachrichten auch", 14),
]

_MESSAGES = [
    _said("Move the refund endpoint to the new ledger client and keep the old response shape.", 1),
    _said("use httpie, never curl", 3),
    _said("Never touch src/billing/legacy.py, it is frozen until the audit is over.", 9),
    _said("Kommentare bitte auf Englisch, Commit-Nachrichten auch", 14),
    _said("now make the retry test pass, then run the whole suite", 22),
]

_HANDOFF: dict[str, Any] = {
    "meta": {
        "schema_version": 1,
        "session_id": SESSION,
        "project": "/home/dev/proj",
        "generated_at": "2026-11-01T10:12:45Z",
        "trigger": "auto",
        "ordinal": 2,
        "status": "complete",
        "reason": None,
        "engine": "claude",
        "rungs": [{"engine": "claude", "result": "ok", "seconds": 8.4}],
        "transcript": {
            "path": f"/home/dev/.claude/projects/-home-dev-proj/{SESSION}.jsonl",
            "size": 1_482_113,
            "last_uuid": POSITION,
            "skipped": 1,
        },
        "usage": {"input_tokens": 31_000, "output_tokens": 1_200},
        "cost_usd": 0.11,
        "seconds": 8.6,
    },
    "session_started": "2026-11-01T09:00:05Z",
    "task": "Move the refund endpoint to LedgerClient while keeping the old response shape.",
    "completed_tasks": [
        "Added LedgerClient.refund() with idempotency keys",
        "Ported POST /v1/refunds to it",
        "Wrote tests/billing/test_refunds.py for the happy path",
    ],
    "current_state": {
        "in_flight": "Making test_refund_retries pass: the second attempt reuses a spent idempotency key.",
        "files_modified": ["src/billing/refunds.py", "src/billing/ledger.py"],
        "works": ["Happy path of POST /v1/refunds returns the old shape"],
        "broken": ["test_refund_retries fails with LedgerConflict on the second attempt"],
    },
    "constraints": {
        "rules": _RULES,
        "ruled_out": [
            {
                "approach": "Retrying inside LedgerClient with tenacity",
                "reason": "it hides 409 answers, and the user does not want another dependency",
            },
        ],
    },
    "files_touched": [
        {
            "path": "src/billing/refunds.py",
            "status": "modified",
            "summary": "POST /v1/refunds now calls LedgerClient.refund",
        },
        {
            "path": "src/billing/ledger.py",
            "status": "created",
            "summary": "LedgerClient and LedgerConflict",
        },
        {
            "path": "tests/billing/test_refunds.py",
            "status": "created",
            "summary": "happy path, retries",
        },
        {
            "path": "src/billing/money.py",
            "status": "renamed",
            "summary": "",
            "from": "src/billing/amounts.py",
        },
        {"path": "scripts/old_refund.sh", "status": "deleted", "summary": ""},
        {
            "path": "src/billing/legacy.py",
            "status": "read",
            "summary": "the response shape to keep",
        },
        {"path": "README.md", "status": "read", "summary": ""},
        {"path": "/etc/hosts", "status": "read", "summary": ""},
    ],
    "issues_discovered": [
        {
            "issue": "The sandbox ledger answers 409 for a spent key instead of replaying the answer",
            "workaround": "derive the key from (refund_id, attempt)",
        },
        {
            "issue": "test database is not reset between runs",
            "workaround": "make reset-db before pytest",
        },
    ],
    "open_questions": ["Should a refund over 10,000 need a second approval?"],
    "next_steps": [
        "Derive the idempotency key from (refund_id, attempt) in LedgerClient.refund",
        "Run pytest tests/billing -x, then the whole suite",
        "Update docs/refunds.md",
    ],
    "resume_prompt": "Continue moving the refund endpoint to LedgerClient; the retry test is next.",
    "facts": {
        "pending_ask": _MESSAGES[-1],
        "user_messages": _MESSAGES,
        "commands": [
            {"command": "pytest tests/billing -x", "outcome": "failed", "count": 4},
            {
                "command": "http POST :8000/v1/refunds amount=1200 currency=EUR",
                "outcome": "ok",
                "count": 2,
            },
            {"command": "make reset-db", "outcome": "ok", "count": 3},
            {"command": "git push --force", "outcome": "rejected", "count": 1},
        ],
        "last_check": {
            "command": "pytest tests/billing -x",
            "outcome": "failed",
            "result": "1 failed, 6 passed in 2.31s",
            "source": "5c3a1f00-0000-5000-8000-000000000031",
        },
        "errors": [
            {
                "what": "pytest tests/billing -x",
                "error": "LedgerConflict: idempotency key 7f3c9a1e already spent",
                "source": "5c3a1f00-0000-5000-8000-000000000031",
            },
        ],
        "todos": [
            {"text": "Port POST /v1/refunds", "status": "completed"},
            {"text": "Make test_refund_retries pass", "status": "in_progress"},
            {"text": "Update docs/refunds.md", "status": "pending"},
        ],
        "plan": "# Refunds on the new ledger\n\n1. LedgerClient.refund\n2. port the endpoint\n3. retries\n4. docs",
        "answers": [
            {
                "question": "Keep the old response shape?",
                "answer": "Yes, byte for byte",
                "source": "5c3a1f00-0000-5000-8000-000000000007",
            },
        ],
        "rejections": [
            {
                "what": "Bash: git push --force",
                "words": "no force pushes, open a PR",
                "source": "5c3a1f00-0000-5000-8000-000000000018",
            },
        ],
        "background": [{"id": "b1c2d3", "what": "uvicorn app:app --reload --port 8000"}],
        "instructions_loaded": ["src/billing/CLAUDE.md"],
        "git": {
            "branch": "refunds-ledger",
            "head": "4be1f07",
            "dirty": ["src/billing/refunds.py", "src/billing/ledger.py"],
        },
        "identifiers": [
            {"text": "LedgerClient.refund", "kind": "name", "near": "src/billing/ledger.py"},
            {"text": "LedgerConflict", "kind": "name", "near": "src/billing/ledger.py"},
            {
                "text": "test_refund_retries",
                "kind": "name",
                "near": "tests/billing/test_refunds.py",
            },
            {"text": "RefundResponse", "kind": "name", "near": "src/billing/refunds.py"},
            {"text": "docs/refunds.md", "kind": "path", "near": ""},
            {"text": "7f3c9a1e", "kind": "hash", "near": "pytest tests/billing -x"},
            {"text": "#4312", "kind": "issue", "near": ""},
            {
                "text": "https://ledger.example.com/docs/idempotency",
                "kind": "url",
                "near": "src/billing/ledger.py",
            },
            {"text": "--reload", "kind": "flag", "near": "uvicorn app:app --reload --port 8000"},
        ],
        "pins": ["The ledger sandbox is wiped every Friday at 18:00 UTC."],
        "tokens": 171_200,
    },
    "audit": {
        "checked": ["rules", "paths", "identifiers", "claims"],
        "failed": [
            {"check": "paths", "item": "src/billing/refund_service.py", "action": "dropped"},
        ],
    },
}

# What only a model writes is empty, or what code can say of it.
_COMPUTED_ONLY: dict[str, Any] = {
    "meta": {
        "status": "partial",
        "reason": "timeout",
        "engine": "facts",
        "rungs": [
            {"engine": "claude", "result": "timeout", "seconds": 60.0},
            {"engine": "facts", "result": "ok", "seconds": 0.0},
        ],
        "usage": None,
        "cost_usd": None,
    },
    "task": _MESSAGES[0]["text"],
    "completed_tasks": ["Port POST /v1/refunds"],
    "current_state": {"in_flight": "Make test_refund_retries pass", "works": [], "broken": []},
    "constraints": {"ruled_out": []},
    "issues_discovered": [],
    "open_questions": [],
    "next_steps": [],
    "resume_prompt": "",
    "audit": {"checked": [], "failed": []},
}
