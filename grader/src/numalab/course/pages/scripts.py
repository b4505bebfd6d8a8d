"""The script of a class's pages, which sorts tables. It stands in the page; no other may run."""

from __future__ import annotations

import base64
import functools
import hashlib

from markupsafe import Markup

from numalab.reports.html_page import TEMPLATES


@functools.cache
def script() -> Markup:
    return Markup((TEMPLATES / "sort.js").read_text())


def digest_of(text: str) -> str:
    """As a Content-Security-Policy names it."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
