"""Reads `.kl/architecture.yaml` into a Manifest; whatever is wrong is said with its place, everything at once."""

from __future__ import annotations

import re
from datetime import date
from typing import Final

from kl_hooks.arch.layers import plain_text, read_layers
from kl_hooks.config.nodes import Node
from kl_hooks.config.problems import Problems
from kl_hooks.config.typed import Reader
from kl_hooks.config.yaml import load
from kl_hooks.model.manifest import Allowance, Manifest
from kl_hooks.model.problem import Problem

MANIFEST: Final = ".kl/architecture.yaml"
_KEYS: Final = ("version", "layers", "type_checking_imports", "exhaustive", "exceptions", "contracts")
_EXCEPTION_KEYS: Final = ("from", "to", "until", "decision")
_TYPE_CHECKING: Final = ("ignore", "enforce")


class ManifestProblems(Problems):
    """The manifest can't be used: exit 2. `problems` has each with its place."""


def read_manifest(path_name: str, text: bytes) -> Manifest:
    """The manifest in `text`. `path_name` is what messages and violations call it.

    Layers are listed from the bottom up: `below` means all layers listed before. Raises ManifestProblems with
    everything that is wrong.
    """
    root, problems = load(path_name, text)
    if root is None:
        raise ManifestProblems(problems or [Problem(path_name, 0, 0, "is empty.", "Propose layers with: kl init")])
    reader = Reader(path_name, problems)
    found = reader.keys(root, _KEYS)
    if "version" in found:
        reader.choice(found["version"][1], '"version"', ("1",))
    if "layers" not in found:
        reader.say(root, 'the key "layers" is missing.', "Propose layers with: kl init")
    layers = read_layers(reader, found["layers"][1]) if "layers" in found else ()
    mode, exhaustive = _TYPE_CHECKING[0], False
    if "type_checking_imports" in found:
        mode = reader.choice(found["type_checking_imports"][1], '"type_checking_imports"', _TYPE_CHECKING)
    if "exhaustive" in found:
        exhaustive = reader.boolean(found["exhaustive"][1], '"exhaustive"', False)
    exceptions = _exceptions(reader, found["exceptions"][1]) if "exceptions" in found else ()
    if "contracts" in found:
        _refuse_contracts(reader, found["contracts"][1])
    if problems:
        raise ManifestProblems(problems)
    return Manifest(path_name, layers, mode, exhaustive, exceptions)


def _refuse_contracts(reader: Reader, node: Node) -> None:
    for contract in reader.items(node, '"contracts"')[:1]:
        reader.say(
            contract,
            "contracts of import-linter are not supported by this version of kl, so they can't be checked here.",
            "Take them out and keep running lint-imports for them.",
        )


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
