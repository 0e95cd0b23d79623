"""The files that are shipped with kl but are not Python: the native git hooks and the forms."""

from __future__ import annotations

from pathlib import Path


def shipped(name: str) -> Path:
    """The path of `hooks/…` or `templates/…`: inside the wheel, or beside the package in a
    checkout.
    """
    inside = Path(__file__).parent / "_shipped" / name
    if inside.exists():
        return inside
    return Path(__file__).parent.parent / name


def form(name: str) -> str:
    """The text of a file in `templates/`."""
    return shipped(f"templates/{name}").read_text(encoding="utf-8")
