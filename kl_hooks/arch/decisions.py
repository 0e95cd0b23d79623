"""Decision records behind the rules: their titles in the checked content, and the text of a new one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from kl_hooks.arch.content import STAGED, WORKTREE, Content
from kl_hooks.errors import KlError
from kl_hooks.git import files
from kl_hooks.model.symbol import RECORD_ID
from kl_hooks.model.text import one_line
from kl_hooks.store.files import read_small

DECISIONS: Final = ".kl/knowledge/decisions/"
_TITLE: Final = re.compile(r"title:[ \t]*(.+)")
_HEADING: Final = re.compile(r"#[ \t]+(.+?)[ \t]*#*")


def decision_titles(seen: Content, wanted: Collection[str]) -> dict[str, str]:
    """Record id → title, for those of `wanted` whose records are there and have one. Never a reason to fail."""
    ids = {one for one in wanted if RECORD_ID.fullmatch(one)}
    if not ids:
        return {}
    try:
        return {name: title for name, text in _records(seen, ids) if (title := title_of(text))}
    except (KlError, OSError):
        return {}


def title_of(text: str) -> str:
    """The title in the front matter of a record, else its first heading; empty where it has neither."""
    lines = text.lstrip("\ufeff").splitlines()
    front = lines[1 : lines.index("---", 1)] if lines[:1] == ["---"] and "---" in lines[1:] else []
    for line in front:
        if found := _TITLE.fullmatch(line.rstrip()):
            return one_line(_unquoted(found[1]), 120)
    body = lines[len(front) + 2 if front else 0 :]
    heading = next((found[1] for line in body if (found := _HEADING.fullmatch(line.rstrip()))), "")
    return one_line(heading, 120)


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1].replace("''", "'") if text[0] == "'" else text[1:-1].replace('\\"', '"')
    return text


def record_id(path: str) -> str:
    """`ADR-0004` of `.kl/knowledge/decisions/ADR-0004-domain.md`; empty for a file that is no record's."""
    name = path.rpartition("/")[2]
    found = RECORD_ID.match(name)
    return found[0] if found and name.endswith(".md") and name[found.end()] in "-." else ""


def _records(seen: Content, ids: Collection[str]) -> Iterator[tuple[str, str]]:
    """(id, text) of these records."""
    if seen.source == WORKTREE:
        top = seen.repo.top
        for path in sorted((top / DECISIONS).glob("*.md")):
            if (name := record_id(path.name)) in ids:
                # a title only: a byte that is not UTF-8 is no reason to fail
                yield name, (read_small(path, within=top) or b"").decode("utf-8", "replace")
        return
    found = (
        files.staged_files(seen.repo, (".md",))
        if seen.source == STAGED
        else files.files_at(seen.repo, seen.source, (".md",))
    )
    some = [one for one in found if one.path.startswith(DECISIONS) and record_id(one.path) in ids]
    for entry, text in files.read_files(seen.repo, some, "objects"):
        yield record_id(entry.path), text.decode("utf-8", "replace")
