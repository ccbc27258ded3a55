"""`python -m keepthread` and the `keepthread` command."""

from __future__ import annotations

from keepthread.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
