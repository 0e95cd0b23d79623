"""A seed out of a feature's specification: its id, its name, and what its sections say. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from kl_hooks.kinds.feature.detect import feature_ids
from kl_hooks.model.text import one_line
from kl_hooks.records.front import read_front
from kl_hooks.records.sections import content, items, lines_of, sections, title_of
from kl_hooks.records.seed.seed import Seed

_TEXTS: Final[Mapping[str, str]] = {
    "purpose": "purpose", "overview": "purpose", "summary": "purpose", "problem": "purpose", "goal": "purpose",
    "architecture": "architecture_summary", "design": "architecture_summary", "approach": "architecture_summary",
}  # fmt: skip
_LISTS: Final[Mapping[str, str]] = {
    "what it is": "what_it_is", "scope": "what_it_is", "in scope": "what_it_is", "requirements": "what_it_is",
    "what it is not": "what_it_is_not", "non-goals": "what_it_is_not", "out of scope": "what_it_is_not",
    "invariants": "invariants", "constraints": "invariants", "components": "key_components",
    "key components": "key_components",
}  # fmt: skip
_DECISION: Final = re.compile(r"\bADR-[0-9]{1,9}\b")
_STATUS: Final = ("planned", "building", "shipped", "draft", "in_progress", "done")


def feature_seed(project: str, path: str, text: str) -> Seed | None:
    """The seed in the specification at `path`; None where neither its front matter, its name nor its title holds an
    id such as FEAT-AUTH-12."""
    lines = lines_of(text)
    front = read_front(path, lines)[0] if lines and lines[0].rstrip() == "---" else None
    told: Mapping[str, Any] = front.raw if front else {}
    body = lines[front.end + 1 :] if front else lines
    title = str(told.get("title") or told.get("name") or title_of(body))
    own = str(told.get("id") or told.get("feature_id") or "")
    ids = feature_ids(" ".join([own, path.rpartition("/")[2], title]))
    if not ids:
        return None
    name = one_line(re.sub(rf"(?i)^\W*{re.escape(ids[0])}\W*", "", title).strip(), 200) or ids[0]
    values: dict[str, Any] = {"title": name, "spec": path, "authority": "auto", "source": f"seed:{path}", **_said(body)}
    decisions = list(dict.fromkeys(_DECISION.findall(text)))
    status = str(told.get("status") or "").strip().lower()
    values |= {"key_decisions": decisions} if decisions else {}
    values |= {"status": status} if status in _STATUS else {}
    return Seed("feature", f"{project}__{ids[0].lower()}", values, path, text, ids[0])


def _said(body: list[str]) -> dict[str, Any]:
    """Field → what stands under its headings."""
    found: dict[str, Any] = {}
    for section in sections(body)[1:]:
        heading, text = section.heading.strip().lower().rstrip(":"), content(body, section)
        if text and heading in _LISTS:
            found[_LISTS[heading]] = [*found.get(_LISTS[heading], []), *items(text)]
        elif text and heading in _TEXTS:
            name = _TEXTS[heading]
            found[name] = f"{found[name]}\n\n{text}" if name in found else text
    return found
