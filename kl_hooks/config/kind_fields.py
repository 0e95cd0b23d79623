"""Reads the fields and verbs of a kind that a person described in YAML."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from kl_hooks.config.nodes import Listing, Node, Text
from kl_hooks.config.nodes import Mapping as Map
from kl_hooks.config.typed import Reader, nearest
from kl_hooks.model.kind import FIRST, LAST, TYPES, Field, Verb

NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
MOST_TEXT: Final = 300
MOST: Final = 100
"""Fields, verbs, statuses and choices that one kind may have, each."""
RESERVED: Final = (
    "arch", "claim", "commits", "context", "doctor", "evidence", "graph", "hooks", "init", "interview", "knowledge",
    "maintain", "mcp", "pool", "proposal", "report", "run", "seed", "serve", "skill", "stats", "status", "sync", "tool",
    "agents", "document", "verify",
)  # fmt: skip
"""Names that commands of kl have or will have: no kind can be called so."""
_VERB: Final = re.compile(r"[a-z][a-z0-9-]{1,29}")
_TAKEN: Final = frozenset(
    {"id", "kind", "body", "path", "agent", "edit", "format", "shape", "asked", "title_option", "clear", "help"}
    | {name for one in (*FIRST, *LAST) for name in (one.name, *one.aliases)}
)
_VERBS_TAKEN: Final = frozenset(
    {"new", "create", "list", "show", "search", "edit", "delete", "history", "export", "import", "renumber"}
)
_FIELD_KEYS: Final = (
    "name", "type", "says", "required", "section", "choices", "also", "aliases", "least", "most", "relation", "example",
)  # fmt: skip
_VERB_KEYS: Final = ("name", "to", "says", "of", "needs", "person")
Found = dict[str, tuple[Text, Node]]


def short(reader: Reader, found: Found, key: str, where: str, default: str = "") -> str:
    """The text of a key on one line, `default` where the key is not there or is wrong (and said)."""
    if key not in found:
        return default
    node = found[key][1]
    text = reader.text(node, f'"{key}"{where}')
    if len(text) > MOST_TEXT or "\n" in text.strip():
        reader.say(node, f'"{key}"{where} must be one line of at most {MOST_TEXT} characters.')
        return default
    return text.strip() or default


def words(
    reader: Reader, found: Found, key: str, where: str, fits: Callable[[str], bool] = bool, known: Sequence[str] = ()
) -> tuple[str, ...]:
    """The texts of a list; those that do not fit (or are not known, where `known` is given) are said and left out."""
    made: list[str] = []
    for one in reader.texts(found[key][1], f'"{key}"{where}') if key in found else ():
        if known and one.value not in known:
            reader.say(one, f'"{key}"{where}: "{one.value[:80]}" is not known.', hint(one.value, known))
        elif not fits(one.value) or one.value in made or len(made) >= MOST:
            reader.say(one, f'"{key}"{where}: "{one.value[:80]}" does not fit, or stands there twice.')
        else:
            made.append(one.value)
    return tuple(made)


def pairs(
    reader: Reader, found: Found, key: str, where: str, values: Sequence[str], what: str = ""
) -> Mapping[str, str]:
    """Text by text; each value must be one of `values`."""
    if key not in found:
        return {}
    node, made = found[key][1], {}
    if not isinstance(node, Map):
        reader.say(node, f'"{key}"{where} must be a map: other word: word that is kept.')
        return {}
    for name, value in node.entries:
        if not isinstance(value, Text) or value.value not in values:
            reader.say(value, f'"{key}"{where}: what stands for "{name.value[:80]}" must be {what or "a known word"}.',
                       hint(getattr(value, "value", ""), values))  # fmt: skip
        else:
            made[name.value] = value.value
    return made


def hint(word: str, known: Sequence[str]) -> str:
    """The nearest known word, or all of them."""
    return nearest(word, known) or f"Known: {', '.join(known)}."


def read_fields(reader: Reader, node: Node) -> tuple[Field, ...]:
    """The fields in a list; what is wrong is said, and that field left out."""
    made: dict[str, Field] = {}
    sections: dict[str, str] = {}
    items = reader.items(node, '"fields"')
    if len(items) > MOST:
        reader.say(node, f"more than {MOST} fields; a kind that large is a document.")
    for item in items[:MOST]:
        one = _field(reader, item)
        if one is None:
            continue
        clash = next((name for name in (one.name, *one.aliases) if _owner(made, name)), "")
        if clash:
            reader.say(item, f'two fields are called "{clash}".')
        elif one.section and one.section.lower() in sections:
            reader.say(item, f'the fields "{sections[one.section.lower()]}" and "{one.name}" share a section.')
        else:
            made[one.name] = one
            sections[one.section.lower()] = one.name
    return tuple(made.values())


def _owner(made: Mapping[str, Field], name: str) -> bool:
    return any(name == one.name or name in one.aliases for one in made.values())


def _field(reader: Reader, node: Node) -> Field | None:
    before = len(reader.problems)
    found = reader.keys(node, _FIELD_KEYS, " in a field")
    name = _name(reader, node, found, "field", NAME, _TAKEN)
    where = f' of the field "{name}"' if name else " of a field"
    kind = reader.choice(found["type"][1], f'"type"{where}', TYPES) if "type" in found else "line"
    choices = words(reader, found, "choices", where)
    if (kind == "choice") != bool(choices) and "choices" not in found:
        reader.say(node, f'"choices"{where} are missing: a choice needs them.')
    elif kind != "choice" and choices:
        reader.say(found["choices"][0], f'"choices"{where} fit only the type choice.')
    least, most = (_bound(reader, found, key, where, default) for key, default in (("least", 0), ("most", 1_000_000)))
    if least > most:
        reader.say(node, f'"least"{where} is larger than "most".')
    made = Field(
        name=name, type=kind, choices=choices, least=least, most=most,
        says=short(reader, found, "says", where, name.replace("_", " ").capitalize() + "."),
        required="required" in found and reader.boolean(found["required"][1], f'"required"{where}', False),
        section=short(reader, found, "section", where),
        also=pairs(reader, found, "also", where, choices, "one of its choices"),
        aliases=words(reader, found, "aliases", where, lambda word: bool(NAME.fullmatch(word)) and word not in _TAKEN),
        relation=_relation(reader, found, where, kind), example=short(reader, found, "example", where),
    )  # fmt: skip
    return made if len(reader.problems) == before else None


def _relation(reader: Reader, found: Found, where: str, kind: str) -> str:
    word = short(reader, found, "relation", where, "related" if kind == "ids" else "")
    if kind != "ids" and word:
        reader.say(found["relation"][0], f'"relation"{where} fits only the type ids.')
    elif word and not NAME.fullmatch(word):
        reader.say(found["relation"][1], f'"relation"{where} must be small letters, digits and "_".')
    return word


def _bound(reader: Reader, found: Found, key: str, where: str, default: int) -> int:
    return reader.number(found[key][1], f'"{key}"{where}', 0, 999_999_999, default) if key in found else default


def _name(reader: Reader, node: Node, found: Found, what: str, shape: re.Pattern[str], taken: frozenset[str]) -> str:
    """The name of a field or verb; empty where it is missing or wrong (and said)."""
    if "name" not in found:
        if found or not isinstance(node, Map):
            reader.say(node, f'a {what} without "name".')
        return ""
    name = short(reader, found, "name", f" of a {what}")
    if name in taken:
        reader.say(found["name"][1], f'"{name}" is there for every kind; a {what} needs a name of its own.')
    elif name and not shape.fullmatch(name):
        reader.say(
            found["name"][1], f'"{name[:80]}" is no name for a {what}: small letters and digits, a letter first.'
        )
        return ""
    return name


def read_verbs(reader: Reader, node: Node, statuses: Sequence[str], fields: Sequence[str]) -> tuple[Verb, ...]:
    """The verbs in a list; each leads to one of `statuses` and may need some of `fields`."""
    made: dict[str, Verb] = {}
    items = node.items[:MOST] if isinstance(node, Listing) else reader.items(node, '"verbs"')
    for item in items:
        found = reader.keys(item, _VERB_KEYS, " in a verb")
        name = _name(reader, item, found, "verb", _VERB, _VERBS_TAKEN)
        where = f' of the verb "{name}"' if name else " of a verb"
        to = short(reader, found, "to", where)
        if to not in statuses:
            place = found["to"][1] if "to" in found else item
            reader.say(place, f'"to"{where} must be one of the statuses.', hint(to, statuses))
        if name in made:
            reader.say(item, f'two verbs are called "{name}".')
        person = "person" in found and reader.boolean(found["person"][1], f'"person"{where}', False)
        says = short(reader, found, "says", where, f"Make it {to}.")
        of = words(reader, found, "of", where, known=statuses)
        made[name] = Verb(name, to, says, of, words(reader, found, "needs", where, known=fields), person)
    return tuple(made.values())
