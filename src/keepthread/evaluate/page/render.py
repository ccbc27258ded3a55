"""The whole page: one file without scripts, that asks no network for anything and tells the browser not to either."""

from __future__ import annotations

import base64
import hashlib
import re

from keepthread import resources
from keepthread.evaluate.page.head import head, overview
from keepthread.evaluate.page.markup import element, safe
from keepthread.evaluate.page.model import Report
from keepthread.evaluate.page.sessions import article

MARKER = "<!-- keepthread report -->"
_HOLE = re.compile(r"\{\{(\w+)\}\}")
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)


def page(report: Report) -> str:
    """Return the report as an HTML document.

    Every text of the report is escaped. The Content-Security-Policy allows the page's own style sheet, by its digest,
    and nothing else: no script, no image, no font, no form, no connection.
    """
    sections = [article(session, number) for number, session in enumerate(report["sessions"], 1)]
    template = resources.read("templates", "report.html")
    holes = {
        "policy": safe(_policy(template)),
        "title": safe(f"{report['project']}: keepthread report"),
        "head": head(report),
        "overview": overview(report),
        "sessions": element("main", *sections),
    }
    return _HOLE.sub(lambda hole: holes[hole[1]], template)


def _policy(template: str) -> str:
    """Return the policy; the digest is of the style sheet as the browser will see it."""
    found = _STYLE.search(template)
    style = found[1] if found else ""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
