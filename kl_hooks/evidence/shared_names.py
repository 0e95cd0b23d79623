"""Names that several tests may share: redaction makes one text of two parameters, and an address of
an object is no part of a name.

What such a name reports in one run is the worst result of its tests. A run that omitted some of
them did not run these, so its pass is none: the one that failed may be among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kl_hooks.evidence.ledger import Entry, selection_limits
from kl_hooks.model.definitions import lazy_pattern
from kl_hooks.model.receipt import REFUTES, Receipt
from kl_hooks.store.redaction import MARK

OMITTED_PASSES: Final = "shared_names"
"""The key in the selection of such a run that has the number of these passes. Never stored."""
_ADDRESS: Final = lazy_pattern(r" at 0x[0-9A-Fa-f]{6,}")


def lasting_name(nodeid: str) -> str:
    """A node ID without addresses of objects, which differ from run to run: tests of one such name
    count as one.
    """
    if " at 0x" not in nodeid:
        return nodeid
    return _ADDRESS.sub(" at 0x", nodeid)


def may_be_shared(nodeid: str) -> bool:
    """Whether other tests may have the name of this one."""
    return MARK in nodeid or lasting_name(nodeid) != nodeid


def reports_all_cases(receipt: Receipt) -> bool:
    """Whether a run reports all parameters of each function that it reports."""
    selection = receipt.selection
    limits = selection_limits(selection).keys() - {"left_out", "transferred"}
    # what `--kl-impacted` deselects are tests whose last result is valid
    if selection.get("impacted"):
        limits -= {"deselected"}
    return not limits and "[" not in "".join(map(str, selection.get("args") or ()))


def _without_addopts(selection: Mapping[str, Any]) -> Mapping[str, Any]:
    """The selection of a run, without what `addopts` in pytest's configuration limits in every
    run: those cases are no part of the whole.
    """
    if selection.get("environment_addopts"):
        return selection  # `PYTEST_ADDOPTS` is no configuration
    words = [str(word) for word in selection.get("addopts") or ()]
    values = {"-m": selection.get("markers"), "-k": selection.get("keyword")}
    for option, value in values.items():
        if value and not {str(value), f"{option}{value}", f"{option}={value}"} & set(words):
            return selection
    by_options = selection.get("deselected_by_options")
    deselected = 0 if selection.get("deselected") == by_options else selection.get("deselected")
    return {**selection, "markers": "", "keyword": "", "deselected": deselected}


def without_partial_passes(entries: Iterable[Entry]) -> list[Entry]:
    """Runs without the passes of names that may be shared, where a run may have omitted one of the
    tests that have the name. Failures stay.
    """
    return [_without_partial_passes(entry) for entry in entries]


def _without_partial_passes(entry: Entry) -> Entry:
    receipt = entry.receipt
    whole = receipt._replace(selection=_without_addopts(receipt.selection))
    if receipt.result.get("complete") and reports_all_cases(whole):
        return entry
    evidence = tuple(
        result
        for result in receipt.evidence
        if result.outcome in REFUTES or not may_be_shared(result.subject)
    )
    omitted = len(receipt.evidence) - len(evidence)
    if not omitted:
        return entry
    selection = {**receipt.selection, OMITTED_PASSES: omitted}
    return entry._replace(receipt=receipt._replace(evidence=evidence, selection=selection))
