"""`kl arch allow`: an exception that ends, with the decision behind it, added to the manifest."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kl_hooks.arch.allowing.decision_record import decision_text, file_name, next_id
from kl_hooks.arch.allowing.insert import insert_exception
from kl_hooks.arch.allowing.terms import decision_id, last_day, refuse_again, refuse_idle, refuse_unknown
from kl_hooks.arch.check import excuses
from kl_hooks.arch.decisions import DECISIONS, id_of
from kl_hooks.arch.edges import edges
from kl_hooks.arch.manifest import read_manifest
from kl_hooks.arch.run import day
from kl_hooks.arch.source import content, repository
from kl_hooks.arch.survey import survey
from kl_hooks.code.modules import plain_name
from kl_hooks.config.files import read_small
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.model.manifest import MANIFEST, Allowance, Manifest
from kl_hooks.records.repository import used_numbers
from kl_hooks.store.atomic import write_atomic
from kl_hooks.store.folder_lock import folder_locked
from kl_hooks.store.redact import redact
from kl_hooks.workspace.open import Workspace


@dataclass(frozen=True, slots=True)
class Allowed:
    """What was written."""

    exception: Allowance
    """With its line in the manifest."""
    record: str
    """Path of the decision record that was written; empty where an existing one was named."""
    imports: int
    """How many imports of today it excuses."""
    remarks: tuple[str, ...] = ()


def allow(
    ws: Workspace, source: str, target: str, until: str, reason: str, decision: str = "", *, accept: bool = False
) -> Allowed:
    """Adds an exception from `source` to `target` (modules or layers), and its decision where none is named.

    `until`: `30d` or `YYYY-MM-DD`. UsageProblem for what can't be, ManifestProblems, EnvironmentProblem; then nothing
    was written.
    """
    top = repository(ws).top
    seen = content(ws)
    if seen.manifest is None:
        raise UsageProblem("is not there, so nothing is forbidden.", place=MANIFEST, hint="Create one with: kl init")
    manifest = read_manifest(MANIFEST, seen.manifest)
    last = last_day(until, ws)
    why = redact(reason).strip()
    if not any(letter.isalpha() for letter in why):
        what = "--reason has no word in it." if why else "--reason is empty."
        raise UsageProblem(what, place="kl arch allow", hint="Say why, for whoever reads it later.")
    found = survey(ws, seen)
    crossing = list(edges(manifest, found.links_under(manifest), found.modules))
    refuse_unknown(manifest, crossing, {plain_name(name) for name in found.modules.values()}, source, target)
    refuse_again(manifest, source, target, last)
    fitting = [edge for edge in crossing if not edge.allowed and excuses(Allowance(source, target), edge)]
    refuse_idle(manifest, fitting, source, target)
    known = _records(top)
    name = decision_id(decision, known) if decision else next_id(known | _named(manifest) | _ever(ws))
    wanted = Allowance(source, target, last, name)
    made = insert_exception(MANIFEST, seen.manifest, wanted)
    if made is None:
        entry = f"{{from: {source}, to: {target}, until: {last}}}"
        raise UsageProblem("no place was found for the exception.", place=MANIFEST, hint=f"Add it by hand: {entry}")
    record = "" if decision else DECISIONS + file_name(name, source, target)
    files = {path: text for path, text in found.modules.items() if plain_name(text) == source}
    text = decision_text(name, wanted, why, day(ws), manifest, fitting, sorted(files), accepted=accept)
    _write(top, seen.manifest, made[0], record, text)
    remarks = []
    if decision and decision not in known:
        remarks.append(f"{decision} is not in {DECISIONS}: make sure that people find it.")
    exception = Allowance(source, target, last, name, made[1])
    return Allowed(exception, record, len(fitting), tuple(remarks))


def _named(manifest: Manifest) -> set[str]:
    """The records that the manifest itself names, wherever they are kept: their numbers are taken."""
    return {one.decision for one in manifest.layers} | {one.decision for one in manifest.exceptions}


def _ever(ws: Workspace) -> set[str]:
    """The id of the highest number that a decision ever had here: files, git's history and branches count."""
    numbers = used_numbers(ws, ws.kinds["decision"])
    return {f"ADR-{max(numbers):04}"} if numbers else set()


def _records(top: Path) -> set[str]:
    """Ids of the records on disk, those in `archive/` too."""
    return {id_of(path.name) for path in (top / DECISIONS).rglob("*.md")} - {""}


def _write(top: Path, before: bytes, after: bytes, record: str, text: str) -> None:
    """The record, then the manifest; neither, if one of them can't be written. No other `kl` writes meanwhile."""
    path = top / MANIFEST
    try:
        with folder_locked(path.parent):
            _compared_and_written(top, path, before, after, record, text)
    except OSError as error:
        raise EnvironmentProblem(f"can't be written: {error}.", place=MANIFEST, hint="Nothing was changed.") from error


def _compared_and_written(top: Path, path: Path, before: bytes, after: bytes, record: str, text: str) -> None:
    state = path.lstat()
    if not stat.S_ISREG(state.st_mode) or read_small(path, within=top) != before:
        raise EnvironmentProblem("is a link, or changed under way.", place=MANIFEST, hint="Run this again.")
    if record:
        _folders(top, Path(record).parent)
        if os.path.lexists(top / record):
            raise EnvironmentProblem("is there already.", place=record, hint="Run this again.")
        write_atomic(top / record, text.encode("utf-8", "replace"), within=top)
    try:
        write_atomic(path, after, stat.S_IMODE(state.st_mode), within=top)
    except BaseException:
        if record:
            with suppress(OSError):
                (top / record).unlink()
        raise


def _folders(top: Path, folder: Path) -> None:
    """Makes the folders of a record, none of them through a link."""
    for place in [*reversed(folder.parents), folder][1:]:
        if (top / place).is_symlink():
            raise EnvironmentProblem("is a link.", place=str(place), hint="Put the folder itself here.")
        (top / place).mkdir(exist_ok=True)
