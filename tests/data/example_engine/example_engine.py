"""An engine of a third party: asks no model, and answers with what its user wrote into the settings."""

from keepthread.engines.model import Answer, Deadline, EngineError, Readiness, Request, Setup


class Parrot:
    """Made from a `Setup`; `local` says that the prompt stays on this machine."""

    name = "parrot"
    local = True

    def __init__(self, setup: Setup) -> None:
        self._words = setup.user.get("KEEPTHREAD_PARROT_WORDS", "")

    def readiness(self) -> Readiness:
        """Say whether it could answer; nothing is started or called."""
        return Readiness(bool(self._words), "its words are set", "Set KEEPTHREAD_PARROT_WORDS.")

    def ask(self, request: Request, deadline: Deadline) -> Answer:
        """Return a document that meets `request.schema`, or raise an EngineError with its reason."""
        if deadline.left() < 1:
            raise EngineError("timeout", "the parrot needs a second")
        empty = {"string": "", "array": []}
        fields = request.schema["properties"].items()
        document = {name: empty[field["type"]] for name, field in fields}
        return Answer({**document, "task": self._words}, self.name, cost_usd=0.0)
