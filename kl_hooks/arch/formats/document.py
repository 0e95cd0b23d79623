"""A check in the form that was asked for: one file per form, this one only chooses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from kl_hooks.arch.formats.findings import Checked
from kl_hooks.arch.render import SCHEMA, plain
from kl_hooks.workspace.open import Workspace

MACHINES: Final = ("json", "sarif", "github", "gitlab", "mermaid")


def document(ws: Workspace, shape: str, found: Sequence[Checked], lists: bool = False) -> str:
    """The whole output in one of `MACHINES`, a newline at its end (nothing at all where there is nothing to say).

    `lists`: JSON names the files in no layer.
    """
    if shape == "github":
        from kl_hooks.arch.formats.github import github

        return _lines(github(found))
    if shape == "mermaid":
        from kl_hooks.arch.formats.flows import flows
        from kl_hooks.arch.formats.mermaid import mermaid

        return _lines(mermaid(found, flows(ws, found)))
    if shape == "gitlab":
        from kl_hooks.arch.formats.gitlab import gitlab

        return _json(gitlab(found))
    if shape == "sarif":
        from kl_hooks.arch.formats.sarif import sarif

        return _json(sarif(found, _version()))
    values = [_plain(source, verdict) for source, verdict in found]
    for value, (_, verdict) in zip(values, found, strict=True) if lists else ():
        value["unassigned_files"] = list(verdict.unassigned) if verdict else []
    clean = all(value["clean"] for value in values)
    return _json(values[0] if len(values) == 1 else {"schema": SCHEMA, "clean": clean, "checks": values})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("kl-hooks")
    except PackageNotFoundError:  # run from a folder, never installed
        return "unknown"


def _plain(source: str, verdict: Any) -> dict[str, Any]:
    if verdict is not None:
        return plain(verdict)
    empty: dict[str, Any] = {key: [] for key in ("violations", "accepted", "contracts", "problems", "warnings")}
    none: dict[str, Any] = {"manifest": None, "baseline": None, "decisions": {}, "files": 0, "layers": 0, "unjudged": 0}
    none |= {"unassigned": 0, "trusted": None, "invalid": False, "loosened": []}
    return {"schema": SCHEMA, "clean": True, "source": source, **none, **empty}


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, sort_keys=True) + "\n"


def _lines(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
