"""What `kl status` says about the layers: what the last check found, or that the manifest itself can't be used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kl_hooks.cli.common import counted, short
from kl_hooks.errors import KlError
from kl_hooks.model.manifest import MANIFEST

if TYPE_CHECKING:
    from kl_hooks.evidence.ledger import Entry
    from kl_hooks.workspace.open import Workspace


def has_mistakes(ws: Workspace) -> bool:
    """True for a manifest that `kl arch check` would refuse. One that was read before is not read as YAML again."""
    from kl_hooks.arch.kept import load_manifest
    from kl_hooks.config.files import read_small

    try:
        text = read_small(ws.root / MANIFEST, within=ws.root)
        if text is not None:
            load_manifest(ws.state.cache, MANIFEST, text)
    except KlError:
        return True
    return False


def told(facts: dict[str, Any], drift: Entry | None) -> str:
    """The line. `drift`: the last check of a whole content."""
    if not facts["manifest"]:
        return f"no {MANIFEST}: nothing is enforced. Propose one with: kl init"
    if facts["manifest_mistakes"]:
        return f"{MANIFEST} has mistakes. See: kl arch check"
    if drift is None:
        return "not checked yet. Run: kl arch check"
    found = "clean" if facts["drift"] == "passed" else "violations"
    same = "this tree" if drift.receipt.tree == facts["tree"] else f"tree {short(drift.receipt.tree, 7)}"
    checked = f"{found} at the last check ({same}, {drift.receipt.ended[:16].replace('T', ' ')})"
    outside = next((one.detail.get("unassigned", 0) for one in drift.receipt.evidence if one.detail), 0)
    return checked + (f"; {counted(outside, 'file')} in no layer" if isinstance(outside, int) and outside else "")
