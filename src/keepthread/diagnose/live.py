"""One real call through the ladder, with a prompt of a few words: does what would be used answer?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keepthread.diagnose.doctor import Check
from keepthread.engines.choose import engines_for
from keepthread.engines.ladder import climb
from keepthread.engines.model import Answer, Deadline, Outcome, Request, Rung
from keepthread.errors import KeepthreadError
from keepthread.host.config import load as load_config
from keepthread.host.locations import config_dir, project_root

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "required": ["word"],
    "additionalProperties": False,
}
_SYSTEM = "You write keepthread handoff documents."
_PROMPT = 'This is a test of the connection. Answer with the JSON object {"word": "ready"} and nothing else.'
_FIXES = {
    "no_login": "Log in, or correct the key and the address; what was answered stands beside it.",
    "rate_limit": "Wait until the limit is over, or name another engine in KEEPTHREAD_ENGINE.",
    "overload": "Try again later; behind a proxy or an own certificate see KEEPTHREAD_CA_BUNDLE.",
    "timeout": "Try again, with a faster model or a larger KEEPTHREAD_TIMEOUT.",
    "cap": "Raise the cap that is named, or wait until it is over.",
    "bad_answer": "Name a model that answers in JSON, and check the base URL.",
    "overflow": "The model takes next to nothing: name another one, or give it a larger context.",
}


def ask_engines(env: Mapping[str, str], cwd: str) -> list[Check]:
    """Return one finding per rung that was tried: how long it took, its tokens and cost, or why it did not answer.

    The call counts towards the caps like any other. A rung that failed is a finding only when none answered after it.

    Raises:
        KeepthreadError: there is no configuration folder.
    """
    folder = config_dir(env)
    config = load_config(env, folder)
    project = project_root(env, cwd)
    try:
        engines = engines_for(config, env, config_dir=folder, project=project)
    except KeepthreadError as problem:
        return [{"name": "live", "ok": False, "detail": problem.message, "fix": problem.hint}]
    request = Request(_SYSTEM, _PROMPT, _SCHEMA, config.model, config.effort)
    outcome = climb(engines, request, Deadline.after(config.timeout))
    return [_finding(rung, outcome) for rung in outcome.rungs]


def _finding(rung: Rung, outcome: Outcome) -> Check:
    answered = outcome.answer is not None or outcome.reason == "engine_facts"
    detail = f"{rung.result} in {rung.seconds:.1f} s"
    if rung.result != "ok":
        detail += f": {rung.detail}" if rung.detail else ""
    elif outcome.answer is not None:
        detail += f", {_spent(outcome.answer)}"
    else:
        detail = "no model is asked" if answered else "what is left: computed from the transcript"
    ok = answered or rung.result == "ok"
    fix = "" if ok else _FIXES.get(rung.result, "")
    return {"name": f"live {rung.engine}", "ok": ok, "detail": detail, "fix": fix}


def _spent(answer: Answer) -> str:
    tokens = (answer.input_tokens, answer.output_tokens)
    read, written = ("an unknown number of" if n is None else f"{n:,}" for n in tokens)
    cost = "unknown cost" if answer.cost_usd is None else f"{answer.cost_usd:.4f} USD"
    return f"{read} tokens read, {written} written, {cost}"
