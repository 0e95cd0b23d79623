"""Reads `.kl/architecture.yaml` into a Manifest; whatever is wrong is said with its place, everything at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import Final

from kl_hooks.arch.contracts.read import read_contracts, without_types
from kl_hooks.arch.layers import AFRESH, plain_text, read_layers
from kl_hooks.arch.mistakes import ManifestProblems
from kl_hooks.config.nodes import Mapping, Node
from kl_hooks.config.typed import Reader, nearest, snake
from kl_hooks.config.yaml import load
from kl_hooks.model.manifest import Allowance, Manifest
from kl_hooks.model.problem import Problem

_KEYS: Final = (
    "version", "layers", "type_checking_imports", "exhaustive", "exceptions", "contracts", "indirect", "language",
    "unassigned_imports",
)  # fmt: skip
_EXCEPTION_KEYS: Final = ("from", "to", "until", "decision")
_TYPE_CHECKING: Final = ("ignore", "enforce")
_INDIRECT: Final = ("ignore", "forbid")
_UNASSIGNED: Final = ("follow", "ignore")


def read_manifest(path_name: str, text: bytes) -> Manifest:
    """The manifest in `text`. `path_name` is what messages and violations call it.

    Layers are listed from the bottom up: `below` means all layers listed before. Raises ManifestProblems with
    everything that is wrong.
    """
    root, problems = load(path_name, text)
    if root is None:
        raise ManifestProblems(problems or [Problem(path_name, 0, 0, "is empty.", AFRESH.capitalize())])
    refused = tuple(problems)
    reader = Reader(path_name, problems)
    found = reader.keys(without_types(reader, root), _KEYS)
    if "version" in found:
        reader.choice(found["version"][1], '"version"', ("1",))
    contracts = read_contracts(reader, found["contracts"][1]) if "contracts" in found else ()
    given = "contracts" in found and bool(getattr(found["contracts"][1], "items", ()))
    if "layers" not in found and not given and isinstance(root, Mapping) and not _is_misspelt(root):
        reader.say(root, 'the key "layers" is missing.', f"Add it, or {AFRESH}")
    layers = read_layers(reader, found["layers"][1], needed=not given) if "layers" in found else ()
    mode, exhaustive = _TYPE_CHECKING[0], False
    if "type_checking_imports" in found:
        mode = reader.choice(found["type_checking_imports"][1], '"type_checking_imports"', _TYPE_CHECKING)
    if "exhaustive" in found:
        exhaustive = reader.boolean(found["exhaustive"][1], '"exhaustive"', False)
    unassigned = _UNASSIGNED[0]
    if "unassigned_imports" in found:
        unassigned = reader.choice(found["unassigned_imports"][1], '"unassigned_imports"', _UNASSIGNED)
    indirect = reader.choice(found["indirect"][1], '"indirect"', _INDIRECT) if "indirect" in found else _INDIRECT[0]
    exceptions = _exceptions(reader, found["exceptions"][1]) if "exceptions" in found else ()
    language, place = plain_text(reader, found, "language", ""), found["language"][0].line if "language" in found else 0
    if problems:
        raise ManifestProblems(_without_echo(refused, problems))
    return Manifest(path_name, layers, mode, exhaustive, exceptions, contracts, indirect, language, place, unassigned)


def _is_misspelt(root: Mapping) -> bool:
    """True where an unknown key was told that it may be `layers`: then that is not missing too."""
    words = [snake(key.value) for key, _ in root.entries]
    return any(word not in _KEYS and nearest(word, _KEYS) == nearest("layers", _KEYS) for word in words)


def _without_echo(refused: Sequence[Problem], problems: Sequence[Problem]) -> list[Problem]:
    """Where YAML itself was refused (an alias, a merge key), what else is wrong at that place follows from it."""
    places = {(one.line, one.column) for one in refused}
    return [*refused, *(one for one in problems[len(refused) :] if (one.line, one.column) not in places)]


def _exceptions(reader: Reader, node: Node) -> tuple[Allowance, ...]:
    made = []
    for item in reader.items(node, '"exceptions"'):
        found = reader.keys(item, _EXCEPTION_KEYS, " in an exception")
        missing = [key for key in ("from", "to") if key not in found]
        if missing:
            if found:
                reader.say(item, f'an exception without "{missing[0]}".', "It needs from and to: modules or layers.")
            continue
        source, target = (plain_text(reader, found, key, " of an exception") for key in ("from", "to"))
        until = plain_text(reader, found, "until", " of an exception")
        if until and not _is_day(until):
            reader.say(found["until"][1], f'"until" is "{until}", not a day.', "Write it as YYYY-MM-DD.")
        decision = plain_text(reader, found, "decision", " of an exception")
        made.append(Allowance(source, target, until, decision, item.line))
    return tuple(made)


def _is_day(text: str) -> bool:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
