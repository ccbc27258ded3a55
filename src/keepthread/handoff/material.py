"""What a request is made from, so that it can be made again in another size: smaller, or in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from keepthread.handoff.digest import BYTES_PER_TOKEN
from keepthread.handoff.model import Handoff, ModelAnswer
from keepthread.handoff.prompt import Long, Prompt, build_prompt
from keepthread.handoff.stages import goal_of, last_turns, split, without_oldest
from keepthread.transcript.model import Item, Transcript


class Material:
    """The partial, its transcript and the user's words for one upgrade; what `build_prompt` takes is said there.

    Attributes:
        correction: what is to be mended in an answer that was given already, "" before there is one; it stands at the
            end of every prompt made from then on.
    """

    def __init__(
        self,
        handoff: Handoff,
        transcript: Transcript,
        *,
        focus: str = "",
        note: str = "",
        memory: str = "",
        template: str = "prompt",
        secrets: Sequence[str] = (),
    ) -> None:
        self._handoff = handoff
        self._transcript = transcript
        self._said: dict[str, Any] = {
            "focus": focus,
            "note": note,
            "memory": memory,
            "template": template,
            "secrets": secrets,
        }
        self._stages: list[Transcript] = []
        self._gone = (0, 0)  # turns, bytes
        self._shared = {"correction": ""}

    @property
    def correction(self) -> str:
        """What is to be mended; one for this material and all made of it."""
        return self._shared["correction"]

    @correction.setter
    def correction(self, text: str) -> None:
        """Let every prompt made from now on end with it."""
        self._shared["correction"] = text

    def of_last(self, turns: int) -> Material:
        """Return material of its own for one engine: the last `turns` turns of the user, 0: all of them."""
        shortened = last_turns(self._transcript, turns)
        made = Material(self._handoff, shortened.transcript, **self._said)
        made._gone = (shortened.turns, shortened.size)
        made._shared = self._shared
        return made

    def system(self) -> str:
        """Return the system prompt, which is the same for every size."""
        return self._build(Transcript(path="", size=0), 0, Long()).system

    def prompt(
        self, budget: int, *, keep: float = 1.0, notes: Sequence[dict[str, Any] | None] = ()
    ) -> str:
        """Return the prompt within `budget` tokens.

        Args:
            budget: for system prompt and prompt together.
            keep: the share of the conversation that stays; the oldest turns are left out first, and a line says so.
            notes: what a model wrote down of each of `parts`, None where it failed; that part is told in brief.
        """
        transcript = self._untold(notes) if notes else self._transcript
        shortened = without_oldest(transcript, keep)
        turns, size = shortened.turns + self._gone[0], shortened.size + self._gone[1]
        known = cast("Sequence[ModelAnswer | None]", notes)
        long = Long(notes=known, left_out=_left_out(turns, size))
        prompt = self._build(shortened.transcript, budget, long).user
        return f"{prompt}\n\n{self.correction}" if self.correction else prompt

    def parts(self, room: int, budget: int) -> list[str]:
        """Return a prompt for each of the older parts when the conversation is larger than `room`, else none.

        Args:
            room: what the model can be told at once; tokens.
            budget: for each of the prompts; tokens.
        """
        self._stages = split(self._transcript, window=room, per_token=BYTES_PER_TOKEN)
        older = self._stages[:-1]
        return [
            self._build(part, budget, Long(part=(number, len(self._stages)))).user
            for number, part in enumerate(older, 1)
        ]

    def _untold(self, notes: Sequence[dict[str, Any] | None]) -> Transcript:
        """Return the transcript without the parts that were written down; the first ask stays."""
        items: list[Item] = []
        for part, note in zip(self._stages, notes, strict=False):
            if note is None:
                items += part.items
        items += self._stages[-1].items
        goal = goal_of(self._transcript.items)
        if goal and goal[0] not in items:
            items[:0] = goal
        return replace(self._transcript, items=items, boundary=None, abandoned=[])

    def _build(self, transcript: Transcript, budget: int, long: Long) -> Prompt:
        return build_prompt(self._handoff, transcript, budget=budget, long=long, **self._said)


def _left_out(turns: int, size: int) -> str:
    if not size:
        return ""
    tokens = f"about {max(size // BYTES_PER_TOKEN, 1):,} tokens"
    oldest = f"the oldest {turns} turns, {tokens}" if turns else f"the beginning, {tokens}"
    return (
        f"Left out so that this fits: {oldest}. The user's first ask stands below; what the facts and the earlier "
        "handoff say of them still holds."
    )
