"""The kinds that a repository describes for itself, `.kl/kinds/*.yaml`: data, no code."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from kl_hooks.config.yaml import ListNode, Node, NodeReader, TextNode, load_yaml, suggest_spelling
from kl_hooks.config.yaml import MapNode as Map
from kl_hooks.errors import UsageProblem
from kl_hooks.model.kind import (
    AUTHORITIES,
    BUDGET_CATEGORIES,
    FIELD_TYPES,
    FIRST_FIELDS,
    LAST_FIELDS,
    NATURES,
    Field,
    Kind,
    Verb,
    with_proposals,
)
from kl_hooks.model.problem import Problem
from kl_hooks.model.text import one_line
from kl_hooks.store.files import read_small

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
_MAX_TEXT: Final = 300
_MAX_ITEMS: Final = 100
"""Fields, verbs, statuses and choices that one kind may have, each."""
RESERVED_NAMES: Final = (
    "arch", "claim", "commits", "config", "context", "doctor", "evidence", "graph", "help", "hooks", "init",
    "interview", "knowledge", "maintain", "mcp", "pool", "proposal", "report", "run", "seed", "serve", "skill", "stats",
    "status", "sync", "tool", "agents", "document", "verify",
)  # fmt: skip
"""Names that commands of kl have or will have: no kind can have one."""
_VERB: Final = re.compile(r"[a-z][a-z0-9-]{1,29}")
_TAKEN: Final = frozenset(
    {"id", "kind", "body", "path", "agent", "edit", "format", "shape", "asked", "title_option", "clear", "help"}
    | {name for one in (*FIRST_FIELDS, *LAST_FIELDS) for name in (one.name, *one.aliases)}
)
_VERBS_TAKEN: Final = frozenset(
    {"new", "create", "list", "show", "search", "edit", "delete", "history", "export", "import", "renumber"}
)
_FIELD_KEYS: Final = (
    "name", "type", "says", "required", "section", "choices", "also", "aliases", "least", "most", "relation", "example",
)  # fmt: skip
_VERB_KEYS: Final = ("name", "to", "says", "of", "needs", "person")
_Found = dict[str, tuple[TextNode, Node]]


def _one_line(reader: NodeReader, found: _Found, key: str, where: str, default: str = "") -> str:
    """The text of a key on one line, `default` where the key is missing or wrong (and reported)."""
    if key not in found:
        return default
    node = found[key][1]
    text = reader.text(node, f'"{key}"{where}')
    if len(text) > _MAX_TEXT or "\n" in text.strip():
        reader.report(node, f'"{key}"{where} must be one line of at most {_MAX_TEXT} characters.')
        return default
    return text.strip() or default


def _words(
    reader: NodeReader,
    found: _Found,
    key: str,
    where: str,
    fits: Callable[[str], bool] = bool,
    known: Sequence[str] = (),
) -> tuple[str, ...]:
    """The texts of a list; those that do not fit, or are not among `known`, are reported and omitted."""
    made: list[str] = []
    for one in reader.texts(found[key][1], f'"{key}"{where}') if key in found else ():
        if known and one.value not in known:
            reader.report(one, f'"{key}"{where}: "{one.value[:80]}" is not known.', _hint(one.value, known))
        elif not fits(one.value) or one.value in made or len(made) >= _MAX_ITEMS:
            reader.report(one, f'"{key}"{where}: "{one.value[:80]}" does not fit, or is there twice.')
        else:
            made.append(one.value)
    return tuple(made)


def _pairs(
    reader: NodeReader, found: _Found, key: str, where: str, values: Sequence[str], what: str = ""
) -> Mapping[str, str]:
    """Text by text; each value must be one of `values`."""
    if key not in found:
        return {}
    node, made = found[key][1], {}
    if not isinstance(node, Map):
        reader.report(node, f'"{key}"{where} must be a map: other word: word that is stored.')
        return {}
    for name, value in node.entries:
        if not isinstance(value, TextNode) or value.value not in values:
            reader.report(value, f'"{key}"{where}: the value of "{name.value[:80]}" must be {what or "a known word"}.',
                       _hint(getattr(value, "value", ""), values))  # fmt: skip
        else:
            made[name.value] = value.value
    return made


def _hint(word: str, known: Sequence[str]) -> str:
    """The nearest known word, or all of them."""
    return suggest_spelling(word, known) or f"Known: {', '.join(known)}."


def _read_fields(reader: NodeReader, node: Node) -> tuple[Field, ...]:
    """The fields in a list; what is wrong is reported, and that field omitted."""
    made: dict[str, Field] = {}
    sections: dict[str, str] = {}
    items = reader.items(node, '"fields"')
    if len(items) > _MAX_ITEMS:
        reader.report(node, f"more than {_MAX_ITEMS} fields; a kind that large is a document.")
    for item in items[:_MAX_ITEMS]:
        one = _read_field(reader, item)
        if one is None:
            continue
        clash = next((name for name in (one.name, *one.aliases) if _is_taken(made, name)), "")
        if clash:
            reader.report(item, f'two fields are called "{clash}".')
        elif one.section and one.section.lower() in sections:
            reader.report(item, f'the fields "{sections[one.section.lower()]}" and "{one.name}" share a section.')
        else:
            made[one.name] = one
            sections[one.section.lower()] = one.name
    return tuple(made.values())


def _is_taken(made: Mapping[str, Field], name: str) -> bool:
    return any(name == one.name or name in one.aliases for one in made.values())


def _is_free_name(word: str) -> bool:
    return bool(_NAME.fullmatch(word)) and word not in _TAKEN


def _read_field(reader: NodeReader, node: Node) -> Field | None:
    before = len(reader.problems)
    found = reader.keys(node, _FIELD_KEYS, " in a field")
    name = _read_name(reader, node, found, "field", _NAME, _TAKEN)
    where = f' of the field "{name}"' if name else " of a field"
    kind = reader.choice(found["type"][1], f'"type"{where}', FIELD_TYPES) if "type" in found else "line"
    choices = _words(reader, found, "choices", where)
    if (kind == "choice") != bool(choices) and "choices" not in found:
        reader.report(node, f'"choices"{where} are missing: a choice needs them.')
    elif kind != "choice" and choices:
        reader.report(found["choices"][0], f'"choices"{where} fit only the type choice.')
    least, most = (_bound(reader, found, key, where, default) for key, default in (("least", 0), ("most", 1_000_000)))
    if least > most:
        reader.report(node, f'"least"{where} is larger than "most".')
    made = Field(
        name=name, type=kind, choices=choices, least=least, most=most,
        description=_one_line(reader, found, "says", where, name.replace("_", " ").capitalize() + "."),
        required="required" in found and reader.boolean(found["required"][1], f'"required"{where}', False),
        section=_one_line(reader, found, "section", where),
        also=_pairs(reader, found, "also", where, choices, "one of its choices"),
        aliases=_words(reader, found, "aliases", where, _is_free_name),
        relation=_relation(reader, found, where, kind), example=_one_line(reader, found, "example", where),
    )  # fmt: skip
    return made if len(reader.problems) == before else None


def _relation(reader: NodeReader, found: _Found, where: str, kind: str) -> str:
    word = _one_line(reader, found, "relation", where, "related" if kind == "ids" else "")
    if kind != "ids" and word:
        reader.report(found["relation"][0], f'"relation"{where} fits only the type ids.')
    elif word and not _NAME.fullmatch(word):
        reader.report(found["relation"][1], f'"relation"{where} must be small letters, digits and "_".')
    return word


def _bound(reader: NodeReader, found: _Found, key: str, where: str, default: int) -> int:
    return reader.number(found[key][1], f'"{key}"{where}', 0, 999_999_999, default) if key in found else default


def _read_name(
    reader: NodeReader, node: Node, found: _Found, what: str, shape: re.Pattern[str], taken: frozenset[str]
) -> str:
    """The name of a field or verb; empty where it is missing or wrong (and reported)."""
    if "name" not in found:
        if found or not isinstance(node, Map):
            reader.report(node, f'a {what} without "name".')
        return ""
    name = _one_line(reader, found, "name", f" of a {what}")
    if name in taken:
        reader.report(found["name"][1], f'"{name}" is there for every kind; a {what} needs a name of its own.')
    elif name and not shape.fullmatch(name):
        reader.report(
            found["name"][1], f'"{name[:80]}" is no name for a {what}: small letters and digits, a letter first.'
        )
        return ""
    return name


def _read_verbs(reader: NodeReader, node: Node, statuses: Sequence[str], fields: Sequence[str]) -> tuple[Verb, ...]:
    """The verbs in a list; each leads to one of `statuses` and may need some of `fields`."""
    made: dict[str, Verb] = {}
    items = node.items[:_MAX_ITEMS] if isinstance(node, ListNode) else reader.items(node, '"verbs"')
    for item in items:
        found = reader.keys(item, _VERB_KEYS, " in a verb")
        name = _read_name(reader, item, found, "verb", _VERB, _VERBS_TAKEN)
        where = f' of the verb "{name}"' if name else " of a verb"
        to = _one_line(reader, found, "to", where)
        if to not in statuses:
            place = found["to"][1] if "to" in found else item
            reader.report(place, f'"to"{where} must be one of the statuses.', _hint(to, statuses))
        if name in made:
            reader.report(item, f'two verbs are called "{name}".')
        person = "person" in found and reader.boolean(found["person"][1], f'"person"{where}', False)
        description = _one_line(reader, found, "says", where, f"Make it {to}.")
        of = _words(reader, found, "of", where, known=statuses)
        made[name] = Verb(name, to, description, of, _words(reader, found, "needs", where, known=fields), person)
    return tuple(made.values())


_FOLDER: Final = ".kl/kinds"
_STORAGES: Final = ("file", "state")
_NUMBERINGS: Final = ("serial", "hash", "random", "given")
_DIGITS: Final = {"hash": (8, 16), "random": (8, 16)}
"""Of ids that do not count: fewest and most (`model.symbol.RECORD_ID`). Those that count have 4 to 9."""
_KEYS: Final = (
    "version", "name", "plural", "prefix", "purpose", "home", "statuses", "live", "fields", "verbs", "section",
    "beside", "share", "filed", "nature", "numbering", "identity", "digits", "ttl", "retention", "spellings",
)  # fmt: skip
_KEY_ALIASES: Final = {"group": "plural", "category": "share", "budget": "share", "default_ttl": "ttl"}
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

    A file with a problem gives no kind. Whether two kinds share a name or a prefix is for the caller to check.
    """
    folder = root / _FOLDER
    problems: list[Problem] = []
    try:
        names = sorted(one.name for one in folder.iterdir()) if folder.is_dir() else []
    except OSError as error:
        return [], [Problem(_FOLDER, 0, 0, f"can't be read: {error}.")]
    files = [name for name in names if name.endswith((".yaml", ".yml")) and not name.startswith(".")]
    if len(files) > _MAX_ITEMS:
        problems.append(
            Problem(_FOLDER, 0, 0, f"{len(files)} files; at most {_MAX_ITEMS} are read.", "Join some kinds.")
        )
    kinds: list[Kind] = []
    for name in files[:_MAX_ITEMS]:
        before, place = len(problems), f"{_FOLDER}/{one_line(name, 80)}"
        try:
            text = read_small(folder / name, within=root)
        except UsageProblem as error:
            problems.append(Problem(place, 0, 0, error.reason, error.hint))
            continue
        kind = read_kind(place, text, problems) if text is not None else None
        if kind is not None and len(problems) == before:
            kinds.append(kind)
    return kinds, problems


def read_kind(path_name: str, text: bytes, problems: list[Problem]) -> Kind | None:
    """The kind in one file; None where something is wrong with it, which is added to `problems`, all at once."""
    root, syntax = load_yaml(path_name, text)
    problems += syntax
    if root is None:
        if not syntax:
            problems.append(Problem(path_name, 0, 0, "is empty.", "A kind needs name, prefix, purpose and statuses."))
        return None
    reader = NodeReader(path_name, [])
    found = reader.keys(_renamed(root), _KEYS)
    kind = _build_kind(reader, root, found) if isinstance(root, Map) else None
    # a value that the parser has reported already is often of a wrong shape too: one mistake is one problem
    echoes = {(one.line, one.column) for one in syntax}
    problems += sorted({one for one in reader.problems if (one.line, one.column) not in echoes})
    return kind if not syntax and not reader.problems else None


def _renamed(root: Node) -> Node:
    """The same map with the other names of keys replaced by ours."""
    if not isinstance(root, Map):
        return root
    return replace(
        root,
        entries=tuple(
            (replace(key, value=_KEY_ALIASES.get(key.value, key.value)), value) for key, value in root.entries
        ),
    )


def _build_kind(reader: NodeReader, root: Node, found: _Found) -> Kind:
    for key in ("name", "prefix", "purpose", "statuses"):
        if key not in found:
            reader.report(root, f'the key "{key}" is missing.')
    if "version" in found:
        reader.choice(found["version"][1], '"version"', ("1",))
    name = _shaped(reader, found, "name", _WORD, "small letters, digits and `-`")
    if name in RESERVED_NAMES:
        reader.report(found["name"][1], f'"{name}" is a command of kl.', "Call the kind something else.")
    fields = _read_fields(reader, found["fields"][1]) if "fields" in found else ()
    statuses = _words(reader, found, "statuses", "", lambda word: bool(_STATUS.fullmatch(word)))
    if "statuses" in found and not statuses:
        reader.report(found["statuses"][0], '"statuses" names none.', "The first is what a new record has.")
    statuses = statuses or ("current",)
    home = reader.choice(found["home"][1], '"home"', _STORAGES) if "home" in found else _STORAGES[0]
    numbering = (
        reader.choice(found["numbering"][1], '"numbering"', _NUMBERINGS) if "numbering" in found else _NUMBERINGS[0]
    )
    verbs = _verbs(reader, found, statuses, fields)
    # a file in git instructs whoever clones it, and a verb for persons shows that one decides: both wait for a person
    usual = NATURES[0] if home == "file" or any(verb.person for verb in verbs) else NATURES[1]
    made = Kind(
        name=name, plural=_shaped(reader, found, "plural", _WORD, "small letters, digits and `-`") or f"{name}s",
        prefix=_shaped(reader, found, "prefix", _PREFIX, "2 to 10 capitals and digits"), storage=home,
        purpose=_one_line(reader, found, "purpose", ""), statuses=statuses, fields=fields, numbering=numbering,
        live=_words(reader, found, "live", "", known=statuses) if "live" in found else _live(statuses, verbs),
        verbs=verbs, nature=reader.choice(found["nature"][1], '"nature"', NATURES) if "nature" in found else usual,
        section=_one_line(reader, found, "section", "", name.replace("-", " ").capitalize()),
        list_fields=_words(reader, found, "beside", "", known=tuple(field.name for field in fields)),
        budget_category=_budget_category(reader, found),
        filed=_words(reader, found, "filed", "", known=statuses),
        identity=_identity(reader, root, found, fields, numbering),
        digits=_digits(reader, found, numbering) if "digits" in found else 0,
        ttl=_ttl(reader, found), spellings=_pairs(reader, found, "spellings", "", statuses, "one of the statuses"),
        retention=reader.number(found["retention"][1], '"retention"', 0, 36_500, 0) if "retention" in found else 0,
        by=reader.path,
    )  # fmt: skip
    return with_proposals(made) if name else made


def _budget_category(reader: NodeReader, found: _Found) -> str:
    return reader.choice(found["share"][1], '"share"', BUDGET_CATEGORIES) if "share" in found else "domain_knowledge"


def _live(statuses: tuple[str, ...], verbs: Sequence[Verb]) -> tuple[str, ...]:
    """The default: the first status; where that is a proposal, what accepting it leads to.

    Known by their words: a verb that closes or rejects must not bring what it ends into context packages.
    """
    if statuses[0] not in _PROPOSALS:
        return statuses[:1]
    accepted = [one.to for one in verbs if one.person and statuses[0] in (one.of or statuses) and one.to not in _ENDED]
    return tuple(accepted[:1]) or statuses[:1]


def _shaped(reader: NodeReader, found: _Found, key: str, shape: re.Pattern[str], means: str) -> str:
    text = _one_line(reader, found, key, "")
    if text and not shape.fullmatch(text):
        reader.report(found[key][1], f'"{key}" is "{text[:80]}"; it must be {means}, a letter first.')
        return ""
    return text


def _verbs(reader: NodeReader, found: _Found, statuses: Sequence[str], fields: Sequence[Field]) -> tuple[Verb, ...]:
    names = [one.name for one in fields]
    return (
        _read_verbs(reader, found["verbs"][1], statuses, [*names, "source", "superseded_by"])
        if "verbs" in found
        else ()
    )


def _identity(
    reader: NodeReader, root: Node, found: _Found, fields: Sequence[Field], numbering: str
) -> tuple[str, ...]:
    named = _words(reader, found, "identity", "", known=["title", *(one.name for one in fields)])
    if numbering == "hash" and "identity" not in found:
        reader.report(root, '"numbering: hash" needs "identity": the fields that make two records the same.')
    return named


def _digits(reader: NodeReader, found: _Found, numbering: str) -> int:
    least, most = _DIGITS.get(numbering, (4, 9))
    what = f'"digits" for "numbering: {numbering}"' if "numbering" in found else '"digits"'
    return reader.number(found["digits"][1], what, least, most, least)


def _ttl(reader: NodeReader, found: _Found) -> dict[str, int]:
    """Authority → days."""
    if "ttl" not in found:
        return {}
    inside = reader.keys(found["ttl"][1], AUTHORITIES, ' in "ttl"')
    return {name: reader.number(value, f'"{name}" in "ttl"', 1, 36_500, 90) for name, (_, value) in inside.items()}
