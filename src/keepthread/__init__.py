"""keepthread keeps the thread of a long coding-agent session across compaction.

Nothing is imported here: hooks start with this package, and each of their milliseconds counts.
"""

__version__ = "0.1.0"
