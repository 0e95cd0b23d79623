"""The id that a capture will have in the ledger, told from its spool file before anybody takes it in."""

from __future__ import annotations

from kl_hooks.evidence.intake import receipt_of
from kl_hooks.evidence.spools import spools
from kl_hooks.store.spool import SPOOL_SUFFIX, read_spool
from kl_hooks.workspace import Workspace


def receipt_id(ws: Workspace, run: str) -> str:
    """64 hexadecimal digits; empty where no capture of this run waits in a spool."""
    for folder, _ in spools(ws):
        try:
            receipt = receipt_of(read_spool(folder / f"{run}{SPOOL_SUFFIX}").records)
        except OSError:
            continue
        if receipt:
            return receipt.id
    return ""
