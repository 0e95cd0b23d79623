"""Reads the kinds that a repository describes for itself, `.kl/kinds/*.yaml`: data, no code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from kl_hooks.config.files import read_small
from kl_hooks.config.kind_fields import MOST, RESERVED, Found, pairs, read_fields, read_verbs, short, words
from kl_hooks.config.nodes import Mapping as Map
from kl_hooks.config.nodes import Node
from kl_hooks.config.typed import Reader
from kl_hooks.config.yaml import load
from kl_hooks.errors import UsageProblem
from kl_hooks.model.kind import AUTHORITIES, NATURES, SHARES, Field, Kind, Verb, with_proposals
from kl_hooks.model.problem import Problem
from kl_hooks.model.text import one_line

FOLDER: Final = ".kl/kinds"
HOMES: Final = ("file", "state")
NUMBERINGS: Final = ("serial", "hash", "random", "given")
_DIGITS: Final = {"hash": (8, 16), "random": (8, 16)}
"""Of ids that do not count: fewest and most (`model.ids.RECORD_ID`). Those that count have 4 to 9."""
_KEYS: Final = (
    "version", "name", "plural", "prefix", "purpose", "home", "statuses", "live", "fields", "verbs", "section",
    "beside", "share", "filed", "nature", "numbering", "identity", "digits", "ttl", "retention", "spellings",
)  # fmt: skip
_OTHER: Final = {"group": "plural", "category": "share", "budget": "share", "default_ttl": "ttl"}
"""Other names of keys that are read."""
_PREFIX: Final = re.compile(r"[A-Z][A-Z0-9]{1,9}")
_PROPOSALS: Final = frozenset({"proposed", "candidate", "draft", "pending", "submitted"})
_ENDED: Final = frozenset(
    {"rejected", "declined", "dropped", "withdrawn", "abandoned", "closed", "archived", "superseded"}
)
_STATUS: Final = re.compile(r"[a-z][a-z0-9_-]{0,29}")
_WORD: Final = re.compile(r"[a-z][a-z0-9-]{0,29}")


def read_kinds(root: Path) -> tuple[list[Kind], list[Problem]]:
    """The kinds of the repository at `root`, by file name, and everything wrong with their files.

    A file with a problem gives no kind. Whether two kinds share a name or a prefix is for the caller to say.
    """
    folder = root / FOLDER
    problems: list[Problem] = []
    try:
        names = sorted(one.name for one in folder.iterdir()) if folder.is_dir() else []
    except OSError as error:
        return [], [Problem(FOLDER, 0, 0, f"can't be read: {error}.")]
    files = [name for name in names if name.endswith((".yaml", ".yml")) and not name.startswith(".")]
    if len(files) > MOST:
        problems.append(Problem(FOLDER, 0, 0, f"{len(files)} files; at most {MOST} are read.", "Join some kinds."))
    kinds: list[Kind] = []
    for name in files[:MOST]:
        said, place = len(problems), f"{FOLDER}/{one_line(name, 80)}"
        try:
            text = read_small(folder / name, within=root)
        except UsageProblem as error:
            problems.append(Problem(place, 0, 0, error.reason, error.hint))
            continue
        kind = read_kind(place, text, problems) if text is not None else None
        if kind is not None and len(problems) == said:
            kinds.append(kind)
    return kinds, problems


def read_kind(path_name: str, text: bytes, problems: list[Problem]) -> Kind | None:
    """The kind in one file; None where something is wrong with it, which `problems` then says, all at once."""
    root, said = load(path_name, text)
    problems += said
    if root is None:
        if not said:
            problems.append(Problem(path_name, 0, 0, "is empty.", "A kind needs name, prefix, purpose and statuses."))
        return None
    reader = Reader(path_name, [])
    found = reader.keys(_renamed(root), _KEYS)
    kind = _kind(reader, root, found) if isinstance(root, Map) else None
    echoes = {(one.line, one.column) for one in said}
    problems += sorted({one for one in reader.problems if (one.line, one.column) not in echoes})
    return kind if not said and not reader.problems else None


def _renamed(root: Node) -> Node:
    """The same map with the other names of keys replaced by ours."""
    if not isinstance(root, Map):
        return root
    return replace(
        root,
        entries=tuple((replace(key, value=_OTHER.get(key.value, key.value)), value) for key, value in root.entries),
    )


def _kind(reader: Reader, root: Node, found: Found) -> Kind:
    for key in ("name", "prefix", "purpose", "statuses"):
        if key not in found:
            reader.say(root, f'the key "{key}" is missing.')
    if "version" in found:
        reader.choice(found["version"][1], '"version"', ("1",))
    name = _shaped(reader, found, "name", _WORD, "small letters, digits and `-`")
    if name in RESERVED:
        reader.say(found["name"][1], f'"{name}" is a command of kl.', "Call the kind something else.")
    fields = read_fields(reader, found["fields"][1]) if "fields" in found else ()
    statuses = words(reader, found, "statuses", "", lambda word: bool(_STATUS.fullmatch(word)))
    if "statuses" in found and not statuses:
        reader.say(found["statuses"][0], '"statuses" names none.', "The first is what a new record has.")
    statuses = statuses or ("current",)
    home = reader.choice(found["home"][1], '"home"', HOMES) if "home" in found else HOMES[0]
    numbering = (
        reader.choice(found["numbering"][1], '"numbering"', NUMBERINGS) if "numbering" in found else NUMBERINGS[0]
    )
    verbs = _verbs(reader, found, statuses, fields)
    usual = NATURES[0] if home == "file" or any(verb.person for verb in verbs) else NATURES[1]
    made = Kind(
        name=name, plural=_shaped(reader, found, "plural", _WORD, "small letters, digits and `-`") or f"{name}s",
        prefix=_shaped(reader, found, "prefix", _PREFIX, "2 to 10 capitals and digits"), home=home,
        purpose=short(reader, found, "purpose", ""), statuses=statuses, fields=fields, numbering=numbering,
        live=words(reader, found, "live", "", known=statuses) if "live" in found else _live(statuses, verbs),
        verbs=verbs, nature=reader.choice(found["nature"][1], '"nature"', NATURES) if "nature" in found else usual,
        section=short(reader, found, "section", "", name.replace("-", " ").capitalize()),
        beside=words(reader, found, "beside", "", known=tuple(field.name for field in fields)),
        share=reader.choice(found["share"][1], '"share"', SHARES) if "share" in found else "domain_knowledge",
        filed=words(reader, found, "filed", "", known=statuses),
        identity=_identity(reader, root, found, fields, numbering),
        digits=_digits(reader, found, numbering) if "digits" in found else 0,
        ttl=_ttl(reader, found), spellings=pairs(reader, found, "spellings", "", statuses, "one of the statuses"),
        retention=reader.number(found["retention"][1], '"retention"', 0, 36_500, 0) if "retention" in found else 0,
        by=reader.path,
    )  # fmt: skip
    return with_proposals(made) if name else made


def _live(statuses: tuple[str, ...], verbs: Sequence[Verb]) -> tuple[str, ...]:
    """Where the file does not say: the first status; where that is a proposal, what accepting it leads to.

    Known by their words: a verb that closes or rejects must not bring what it ends into context packages.
    """
    if statuses[0] not in _PROPOSALS:
        return statuses[:1]
    accepted = [one.to for one in verbs if one.person and statuses[0] in (one.of or statuses) and one.to not in _ENDED]
    return tuple(accepted[:1]) or statuses[:1]


def _shaped(reader: Reader, found: Found, key: str, shape: re.Pattern[str], means: str) -> str:
    text = short(reader, found, key, "")
    if text and not shape.fullmatch(text):
        reader.say(found[key][1], f'"{key}" is "{text[:80]}"; it must be {means}, a letter first.')
        return ""
    return text


def _verbs(reader: Reader, found: Found, statuses: Sequence[str], fields: Sequence[Field]) -> tuple[Verb, ...]:
    names = [one.name for one in fields]
    return (
        read_verbs(reader, found["verbs"][1], statuses, [*names, "source", "superseded_by"]) if "verbs" in found else ()
    )


def _identity(reader: Reader, root: Node, found: Found, fields: Sequence[Field], numbering: str) -> tuple[str, ...]:
    named = words(reader, found, "identity", "", known=["title", *(one.name for one in fields)])
    if numbering == "hash" and "identity" not in found:
        reader.say(root, '"numbering: hash" needs "identity": the fields that make two records the same.')
    return named


def _digits(reader: Reader, found: Found, numbering: str) -> int:
    least, most = _DIGITS.get(numbering, (4, 9))
    what = f'"digits" for "numbering: {numbering}"' if "numbering" in found else '"digits"'
    return reader.number(found["digits"][1], what, least, most, least)


def _ttl(reader: Reader, found: Found) -> dict[str, int]:
    """Authority → days."""
    if "ttl" not in found:
        return {}
    inside = reader.keys(found["ttl"][1], AUTHORITIES, ' in "ttl"')
    return {name: reader.number(value, f'"{name}" in "ttl"', 1, 36_500, 90) for name, (_, value) in inside.items()}
