"""Capturing an outcome. Where the store can't be written just now it is put aside, with its id, and taken in later."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.config.files import read_small
from kl_hooks.errors import EnvironmentProblem, KlError
from kl_hooks.kinds.outcome.kind import KIND
from kl_hooks.records.write import checked_or_raise, cleaned, create
from kl_hooks.store.atomic import write_atomic
from kl_hooks.store.state import spool_places

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace

_FOLDER: Final = "outcomes"
_NAME: Final = re.compile(r"OUT-[0-9a-f]{8}\.json")


def capture(ws: Workspace, raw: Mapping[str, Any], by: str = "") -> tuple[str, str]:
    """(the id, why it was put aside: empty where it was recorded). Problems for values that do not fit.

    EnvironmentProblem only where it can't be put aside either.
    """
    checked_or_raise(KIND, cleaned(raw), "kl outcome capture")
    identifier = f"{KIND.prefix}-{secrets.token_hex(4)}"
    try:
        create(ws, KIND, raw, asked=identifier, by=by)
    except EnvironmentProblem as problem:
        _put_aside(ws, identifier, {"raw": cleaned(raw), "by": by, "at": ws.clock.now()}, problem)
        return identifier, str(problem)
    return identifier, ""


def take_in(ws: Workspace) -> list[str]:
    """Records what was put aside, now that the store can be written; the ids. What can't be taken in stays."""
    taken: list[str] = []
    for path in list(_waiting(ws)):
        try:
            found = json.loads(read_small(path) or b"")
            create(ws, KIND, found["raw"], asked=path.stem, by=str(found.get("by", "")))
        except EnvironmentProblem:
            return taken  # not yet
        except (KlError, ValueError, KeyError, TypeError) as problem:
            if "is there already" not in str(problem):
                continue
        path.unlink(missing_ok=True)
        taken.append(path.stem)
    return taken


def _places(ws: Workspace) -> list[Path]:
    """Beside the places of spools, outside of the work tree: what lies in it may have come by cloning."""
    found = [place.parent / _FOLDER for place, word in spool_places(ws.state, ws.root, ws.environ)]
    return [place for place in found if not place.is_relative_to(ws.root / ".kl")]


def _waiting(ws: Workspace) -> Iterator[Path]:
    for place in _places(ws):
        try:
            yield from sorted(path for path in place.iterdir() if _NAME.fullmatch(path.name) and not path.is_symlink())
        except OSError:
            continue


def _put_aside(ws: Workspace, identifier: str, plain: Mapping[str, Any], problem: EnvironmentProblem) -> None:
    data = json.dumps(plain, ensure_ascii=True).encode()
    for place in _places(ws):
        try:
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomic(place / f"{identifier}.json", data, mode=0o600)
            return
        except OSError:
            continue
    raise problem
