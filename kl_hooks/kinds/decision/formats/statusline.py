"""`status` and `date` as other formats write them: words that may name a newer decision, dates of any spelling."""

from __future__ import annotations

from kl_hooks.kinds.decision.formats.draft import Draft
from kl_hooks.kinds.decision.formats.head import iso_date, status


def put_status(draft: Draft, text: str) -> None:
    """The status, and the decisions that took its place; what else it says is kept."""
    word, newer, rest = status(text)
    draft.put("status", word)
    draft.put("superseded_by", newer)
    draft.leave("Status" if rest else "", rest)


def put_date(draft: Draft, text: str) -> None:
    """The date; what can't be read as one is kept."""
    if found := iso_date(text):
        draft.put("date", found)
    else:
        draft.leave("Date" if text.strip() else "", text)


def comes_back(text: str, names: tuple[str, ...]) -> bool:
    """True where the words of a status say exactly that these decisions took its place."""
    return status(text) == ("superseded", names, "")
