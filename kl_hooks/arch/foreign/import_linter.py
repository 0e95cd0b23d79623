"""Reads the configuration of import-linter, as it does itself: an INI file, or a table in TOML. Pure."""

from __future__ import annotations

import configparser
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from kl_hooks.arch.contracts.read import CUSTOM, TYPES
from kl_hooks.arch.foreign.imported import Imported
from kl_hooks.config.problems import Problems
from kl_hooks.model.contract import Contract, Option
from kl_hooks.model.problem import Problem

_SECTION: Final = "importlinter"
_KNOWN: Final = ("root_package", "root_packages", "include_external_packages", "exclude_type_checking_imports")
_SHOWN_ONLY: Final = ("show_timings",)
"""Options that change no verdict."""


def read_importlinter(path_name: str, text: bytes) -> Imported | None:
    """Every contract in its own words; None where the file has none of import-linter's. Problems for a broken file.

    All contracts stay contracts here; which may become layers is another question (`layered`).
    """
    try:
        decoded = text.decode("utf-8")
        read = _toml(decoded) if path_name.endswith(".toml") else _ini(decoded)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, configparser.Error, RecursionError) as error:
        said = f"can't be read: {' '.join(str(error).split())}."
        raise Problems([Problem(path_name, getattr(error, "lineno", 0) or 0, 0, said)]) from error
    if read is None:
        return None
    session, contracts = read
    left = [f'"{CUSTOM}": such contracts are code of the checkout, and none of it is run'] if CUSTOM in session else []
    left += [f'the option "{key}"' for key in session if key not in (*_KNOWN, *_SHOWN_ONLY, CUSTOM)]
    roots = _words(session.get("root_packages") or session.get("root_package") or [])
    made: list[Contract] = []
    comments: dict[str, str] = {}
    for number, raw in enumerate(contracts, 1):
        contract = _contract(raw, number, {one.name for one in made}, left)
        if contract is not None:
            externals, checking = (_true(session.get(key)) for key in _KNOWN[2:])
            made.append(
                replace(contract, root_packages=roots, include_external_packages=externals,
                        exclude_type_checking_imports=checking)
            )  # fmt: skip
            comments[contract.name] = f"{path_name}: contract {raw.get('id') or number}"
    mode = "ignore" if _true(session.get(_KNOWN[3])) else "enforce"
    return Imported(path_name, (), tuple(made), mode, comments=comments, left=tuple(left))


def _toml(text: str) -> tuple[dict[str, Any], list[dict[str, Any]]] | None:
    tool = tomllib.loads(text).get("tool", {})
    session = tool.get(_SECTION) if isinstance(tool, dict) else None
    if not isinstance(session, dict) or not session:
        return None
    contracts = session.pop("contracts", [])
    return session, [one for one in contracts if isinstance(one, dict)] if isinstance(contracts, list) else []


def _ini(text: str) -> tuple[dict[str, Any], list[dict[str, Any]]] | None:
    config = configparser.ConfigParser()
    config.read_string(text)
    if _SECTION not in config.sections():
        return None
    contracts = [
        {"id": name.split(":")[-1], **_values(config[name])}
        for name in config.sections()
        if name.startswith(f"{_SECTION}:")
    ]
    return _values(config[_SECTION]), contracts


def _values(section: Mapping[str, str]) -> dict[str, Any]:
    return {key: value.strip().split("\n") if "\n" in value else value for key, value in section.items()}


def _contract(raw: Mapping[str, Any], number: int, taken: set[str], left: list[str]) -> Contract | None:
    """One contract, None for a type of one's own; what is left out of it goes to `left`."""
    name, sort = str(raw.get("name") or raw.get("id") or f"contract {number}"), str(raw.get("type", ""))
    if sort not in TYPES:
        left.append(f'contract "{name}": "{sort}" is not a built-in type of import-linter')
        return None
    fields = TYPES[sort]
    unknown = [key for key in raw if key not in ("id", "name", "type", *fields)]
    left += [f'contract "{name}": import-linter has no option "{key}" there' for key in unknown]
    options = tuple(Option(key, _option(value, fields[key]), 0) for key, value in raw.items() if key in fields)
    unique, more = name, 2
    while unique in taken:
        unique, more = f"{name} ({more})", more + 1
    kept = tuple(option for option in options if option.value or fields[option.key].endswith("!"))
    return Contract(unique, sort, kept, 0)


def _option(value: Any, sort: str) -> str | tuple[str, ...]:
    if sort.startswith("list"):
        return _words(value)
    text = "\n".join(str(one) for one in value) if isinstance(value, list) else str(value)
    return str(_true(value)) if sort == "bool" else text.strip()


def _words(value: Any) -> tuple[str, ...]:
    """The lines or items that are not blank."""
    items = value if isinstance(value, list) else [value]
    return tuple(str(one).strip() for one in items if str(one).strip())


def _true(value: Any) -> bool:
    return str(value).lower() == "true"
