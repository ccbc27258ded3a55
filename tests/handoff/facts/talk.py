"""Builds the items of a transcript by hand, in order, each with a place of its own."""

from __future__ import annotations

from typing import Any

from keepthread.transcript.model import Call, Item, Message, Note, Place, Result, Transcript

PROJECT = "/home/dev/proj"


class Talk:
    """A conversation under construction; methods return the uuid of what they added."""

    def __init__(self, cwd: str = PROJECT) -> None:
        self.cwd = cwd
        self.items: list[Item] = []
        self._offset = 0

    def _place(self) -> Place:
        self._offset += 100
        return Place(self._offset, f"u{self._offset}")

    def user(self, text: str, via: Any = "prompt") -> str:
        place = self._place()
        self.items.append(Message("user", via, text, place, cwd=self.cwd))
        return place.uuid

    def reply(self, text: str) -> str:
        place = self._place()
        self.items.append(Message("assistant", "reply", text, place, cwd=self.cwd))
        return place.uuid

    def host(self, text: str, via: Any = "notification") -> str:
        place = self._place()
        self.items.append(Message("host", via, text, place, cwd=self.cwd))
        return place.uuid

    def note(self, kind: str, **data: Any) -> None:
        self.items.append(Note(kind, data, self._place()))

    def call(
        self,
        name: str,
        given: dict[str, Any],
        answer: str | None = "ok",
        *,
        error: bool = False,
        rejected: bool = False,
        words: str = "",
        **data: Any,
    ) -> Call:
        place = self._place()
        call = Call(f"toolu_{self._offset}", name, given, place, cwd=self.cwd)
        self.items.append(call)
        if answer is not None:
            place = self._place()
            call.result = Result(answer, error, rejected, place, data=data)
            if rejected:
                self.items.append(Message("user", "rejection", words, place, cwd=self.cwd))
        return call

    def bash(self, command: str, output: str = "", *, error: bool = False, **data: Any) -> Call:
        return self.call("Bash", {"command": command}, output, error=error, **data)

    def fail(self, command: str, output: str) -> Call:
        return self.bash(command, f"Exit code 1\n{output}", error=True)

    def edit(self, path: str, old: str = "a = 1", new: str = "a = 2", **more: Any) -> Call:
        given = {"file_path": path, "old_string": old, "new_string": new}
        return self.call("Edit", given, f"The file {path} has been updated.", **more)

    def write(self, path: str, content: str = "x = 1\n", kind: str = "create") -> Call:
        return self.call("Write", {"file_path": path, "content": content}, "done", type=kind)

    def read(self, path: str, content: str = "1\tx = 1") -> Call:
        return self.call("Read", {"file_path": path}, content)

    def transcript(self, **more: Any) -> Transcript:
        return Transcript("/t.jsonl", 1000, items=self.items, cwd=self.cwd, position="p", **more)
