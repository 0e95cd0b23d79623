"""Reads the list `contracts` of a manifest: import-linter's built-in types with their own options, nothing else.

Types of one's own are refused: they are classes of the checkout, and running them would run its code.
"""

from __future__ import annotations

from collections.abc import Mapping as Table
from typing import Final

from kl_hooks.config.nodes import Listing, Mapping, Node, Text
from kl_hooks.config.typed import Reader, nearest, snake
from kl_hooks.model.contract import Contract, Option

Pair = tuple[Text, Node]
"""A key and its value."""
_IGNORES: Final = {
    "ignore_imports": "list",
    "unmatched_ignore_imports_alerting": "alert",
    "broken_contract_guidance": "text",
}
TYPES: Final[Table[str, Table[str, str]]] = {
    "forbidden": {
        "source_modules": "list!", "forbidden_modules": "list!", "allow_indirect_imports": "bool",
        "as_packages": "bool", **_IGNORES,
    },
    "layers": {
        "layers": "list!", "containers": "list", "exhaustive": "bool", "exhaustive_ignores": "list", **_IGNORES,
    },
    "independence": {"modules": "list!", **_IGNORES},
    "protected": {"protected_modules": "list!", "allowed_importers": "list!", "as_packages": "bool", **_IGNORES},
    "acyclic_siblings": {"ancestors": "list!", "depth": "number", "skip_descendants": "list", **_IGNORES},
}  # fmt: skip
"""Type → its options and what they hold; `!` marks those that it needs."""
_OWN: Final = ("name", "type", "id", "decision")
SESSION: Final = ("root_packages", "include_external_packages", "exclude_type_checking_imports")
"""What import-linter takes for all contracts at once, and we for each."""
CUSTOM: Final = "contract_types"
_ALERTS: Final = ("error", "warn", "none")
_REFUSED: Final = (
    '"contract_types" is not allowed: such contracts are code of the checkout, and none of it is run here.'
)


def without_types(reader: Reader, node: Node) -> Node:
    """The node without the key `contract_types`, which is refused at its place."""
    if not isinstance(node, Mapping):
        return node
    for key, _ in node.entries:
        if snake(key.value) == CUSTOM:
            reader.say(key, _REFUSED, f"Built-in types: {', '.join(TYPES)}. Run lint-imports for others.")
    kept = tuple(entry for entry in node.entries if snake(entry[0].value) != CUSTOM)
    return Mapping(kept, node.line, node.column)


def read_contracts(reader: Reader, node: Node) -> tuple[Contract, ...]:
    """Every contract of the list; what is wrong goes to the reader's problems."""
    names: dict[str, Text] = {}
    made = [_contract(reader, item, names) for item in reader.items(node, '"contracts"')]
    return tuple(one for one in made if one is not None)


def _contract(reader: Reader, item: Node, names: dict[str, Text]) -> Contract | None:
    """One contract, None where it can't be made out."""
    if not isinstance(item, Mapping):
        reader.keys(item, _OWN, " in a contract")
        return None
    title, sort = (_plain(item, key) for key in ("name", "type"))
    where = f' in contract "{title.value}"' if title else " in a contract"
    fields = _fields(reader, item, sort, where)
    known = (*_OWN, *fields, *SESSION) if fields else (*_OWN, *SESSION, *(k for f in TYPES.values() for k in f))
    found = reader.keys(without_types(reader, item), known, where)
    name = _name(reader, item, found, names)
    options = [_option(reader, found[key], key, sort_, where) for key, sort_ in fields.items() if key in found]
    for key, sort_ in fields.items():
        if sort_.endswith("!") and key not in found:
            reader.say(title or item, f'contract "{title.value if title else ""}" has no "{key}".')
    roots, externals, checking = (_session(reader, found, key, where) for key in SESSION)
    decision = reader.text(found["decision"][1], f'"decision"{where}') if "decision" in found else ""
    line = title.line if title else item.line
    kind = sort.value if sort else ""
    made = tuple(option for option in options if option is not None)
    return Contract(name, kind, made, line, decision, tuple(roots), bool(externals), bool(checking))


def _plain(item: Mapping, wanted: str) -> Text | None:
    found = (value for key, value in item.entries if snake(key.value) == wanted)
    return next((value for value in found if isinstance(value, Text) and value.value.strip()), None)


def _fields(reader: Reader, item: Mapping, sort: Text | None, where: str) -> Table[str, str]:
    """The options of the contract's type; empty where the type is wrong, and that is said."""
    if sort is None:
        reader.say(item, f'"type" is missing{where}.', f"One of: {', '.join(TYPES)}.")
        return {}
    if sort.value not in TYPES:
        hint = nearest(sort.value, TYPES) or f"Built-in types: {', '.join(TYPES)}. Run lint-imports for others."
        reader.say(sort, f'"{sort.value}" is not a built-in type of import-linter{where}.', hint)
        return {}
    return TYPES[sort.value]


def _name(reader: Reader, item: Node, found: dict[str, Pair], names: dict[str, Text]) -> str:
    if "name" not in found:
        reader.say(item, 'a contract without "name".')
        return ""
    node = found["name"][1]
    name = reader.text(node, '"name" of a contract')
    if name in names:
        reader.say(node, f'contract "{name}" is defined twice (first at line {names[name].line}).')
    if name and isinstance(node, Text):
        names.setdefault(name, node)
    return name


def _option(reader: Reader, pair: Pair, key: str, sort: str, where: str) -> Option | None:
    line, node, what = pair[0].line, pair[1], f'"{key}"{where}'
    if sort.startswith("list"):
        values = _words(reader, node, what)
        if sort.endswith("!") and isinstance(node, Listing) and not node.items:
            reader.say(node, f"{what} is empty.")
        return Option(key, tuple(values), line)
    if sort == "bool":
        return Option(key, str(reader.boolean(node, what, False)), line)
    if sort == "number":
        return Option(key, str(reader.number(node, what, 0, 1000, 10)), line)
    if sort == "alert":
        return Option(key, reader.choice(node, what, _ALERTS), line)
    text = reader.text(node, what)
    return Option(key, text, line) if text else None


def _session(reader: Reader, found: dict[str, Pair], key: str, where: str) -> list[str]:
    """The value of a key that import-linter takes for all contracts; a boolean is empty for false."""
    if key not in found:
        return []
    what = f'"{key}"{where}'
    if key == "root_packages":
        return _words(reader, found[key][1], what)
    return ["true"] if reader.boolean(found[key][1], what, False) else []


def _words(reader: Reader, node: Node, what: str) -> list[str]:
    """The texts of a list; a text that stands alone is a list of one."""
    if isinstance(node, Text) and node.value.strip():
        return [node.value]
    return [text.value for text in reader.texts(node, what)]
