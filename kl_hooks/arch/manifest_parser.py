"""Parser of `.kl/architecture.yaml`: layers, options, exceptions and contracts of import-linter.

Everything that is wrong is reported at once, each with its line. Checks read the compiled form
(`arch.manifest`), so that a commit does not pay for YAML.
"""

from __future__ import annotations

import re
from collections.abc import Mapping as Table
from collections.abc import Sequence
from datetime import date
from typing import Final

from kl_hooks.arch.layers import _WHOLE_REPOSITORY, ManifestProblems
from kl_hooks.config.yaml import (
    ListNode,
    MapNode,
    Node,
    NodeReader,
    TextNode,
    load_yaml,
    snake_case,
)
from kl_hooks.model.contract import Contract, Option
from kl_hooks.model.definitions import lazy_pattern
from kl_hooks.model.manifest import Allowance, Layer, Manifest
from kl_hooks.model.problem import Problem
from kl_hooks.model.text import suggest_spelling

_LOWER: Final = "below"
_WRITE_NEW: Final = "delete this file and propose layers with: kl init"
"""The hint for an empty manifest: `kl init` itself overwrites no file."""
_LAYER_KEYS: Final = ("name", "paths", "may_depend_on", "decision", "namespaces")

_NAMESPACE: Final = lazy_pattern(r"[^\W\d]\w*(\.[^\W\d]\w*)*")

_Entry = tuple[TextNode, Node]
"""A key and its value."""


def _layers(reader: NodeReader, node: Node, *, needed: bool = True) -> tuple[Layer, ...]:
    """Every layer of the list, from the bottom up; what is wrong goes to the reader's problems.

    `needed`: an empty list is wrong.
    """
    items = reader.items(node, '"layers"')
    if needed and not items and not reader.problems:
        reader.report(node, '"layers" is empty.', f"List some, or {_WRITE_NEW}")
    names: dict[str, TextNode] = {}
    raw = [one for one in (_layer(reader, item, names) for item in items) if one]
    _refuse_shared_paths(reader, raw)
    _refuse_shared_namespaces(reader, raw)
    layers = []
    for place, (name, pairs) in enumerate(raw):
        below = tuple(other.value for other, _ in raw[:place])
        allowed, line = _allowed(reader, name, pairs, names, below)
        decision = _optional_text(reader, pairs, "decision", f' of layer "{name.value}"')
        paths = tuple(path for path, _ in _paths(pairs))
        namespaces = tuple(dict.fromkeys(name for name, _ in _namespaces(pairs)))
        layers.append(Layer(name.value, paths, allowed, line, decision, namespaces))
    return tuple(layers)


def _layer(
    reader: NodeReader, item: Node, names: dict[str, TextNode]
) -> tuple[TextNode, dict[str, _Entry]] | None:
    """Name and keys of one layer, with everything checked that does not need the other layers."""
    own = _text_node(item, "name")
    title = own.value if own else ""
    pairs = reader.keys(item, _LAYER_KEYS, f' in layer "{title}"' if title else " in a layer")
    if not pairs:
        return None
    name = _checked_name(reader, item, pairs, names)
    _check_paths(reader, item, pairs, title)
    if name is None and "may_depend_on" in pairs:
        node = pairs["may_depend_on"][1]
        if not isinstance(node, TextNode):
            reader.texts(node, f'"may_depend_on" of layer "{title}"')
        elif node.value and node.value != _LOWER:
            _refuse_text(reader, title, node, names)
    if name is not None:
        return (name, pairs)
    return None


def _checked_name(
    reader: NodeReader, item: Node, pairs: dict[str, _Entry], names: dict[str, TextNode]
) -> TextNode | None:
    """The name of a layer, None where it can't be used; it joins `names`."""
    name = pairs["name"][1] if "name" in pairs else None
    if name is None:
        reader.report(item, 'a layer without "name".')
        return None
    if not reader.text(name, '"name"') or not isinstance(name, TextNode):
        return None
    if name.value in names:
        first = names[name.value].line
        reader.report(name, f'layer "{name.value}" is defined twice (first at line {first}).')
        return None
    if name.value == _LOWER or re.search(r"[\s,]", name.value) or not name.value.isprintable():
        reader.report(
            name,
            f'"{name.value}" can\'t be the name of a layer (no spaces, no commas, not "{_LOWER}").',
        )
    # an invalid name as well: else layers that depend on it would be reported too
    names[name.value] = name
    return name


def _check_paths(reader: NodeReader, item: Node, pairs: dict[str, _Entry], title: str) -> None:
    """Report what is wrong with the paths of a layer."""
    if "paths" not in pairs and "namespaces" in pairs:
        return  # packages from outside: no file here belongs to it
    if "paths" not in pairs:
        if "name" in pairs:
            place = pairs["name"][1]
        else:
            place = item
        reader.report(place, f'layer "{title}" has no "paths".', "Give the folders it owns.")
        return
    where = f'"paths" of layer "{title}"'
    node = pairs["paths"][1]
    if isinstance(node, ListNode) and not node.items:
        reader.report(node, f"{where} names no folder.", "Give the folders it owns.")
    for text in reader.texts(node, where):
        _, complaint = _clean_path(text.value)
        if complaint:
            reader.report(text, f'path "{text.value}" of layer "{title}" {complaint}.')


def _listed(pairs: dict[str, _Entry], key: str) -> list[TextNode]:
    """The texts of an optional list."""
    if key in pairs:
        items = getattr(pairs[key][1], "items", ())
    else:
        items = ()
    return [item for item in items if isinstance(item, TextNode) and item.value.strip()]


def _paths(pairs: dict[str, _Entry]) -> list[tuple[str, TextNode]]:
    """The valid paths of a layer with their places; the others are reported already."""
    cleaned = [(_clean_path(text.value), text) for text in _listed(pairs, "paths")]
    return [(path, text) for (path, complaint), text in cleaned if not complaint]


def _namespaces(pairs: dict[str, _Entry]) -> list[tuple[str, TextNode]]:
    """The namespaces of a layer with their places; `shop.web.*` means `shop.web`."""
    named = ((text.value.strip().removesuffix(".*"), text) for text in _listed(pairs, "namespaces"))
    return [(name, text) for name, text in named if name]


def _refuse_shared_namespaces(
    reader: NodeReader, raw: list[tuple[TextNode, dict[str, _Entry]]]
) -> None:
    owners: dict[str, str] = {}
    for layer, pairs in raw:
        if "namespaces" in pairs:
            reader.texts(pairs["namespaces"][1], f'"namespaces" of layer "{layer.value}"')
        for name, text in _namespaces(pairs):
            if not _NAMESPACE.fullmatch(name):
                hint = "Write a dotted name, such as shop.web."
                reader.report(
                    text,
                    f'"{text.value}" in "namespaces" of layer "{layer.value}" is no name of a'
                    " module.",
                    hint,
                )
            elif owners.setdefault(name, layer.value) != layer.value:
                shared_text = (
                    f'layers "{owners[name]}" and "{layer.value}" both own the namespace {name}.'
                )
                reader.report(
                    text,
                    shared_text,
                    "Give it to one of them; a longer name wins over a shorter one.",
                )


def _refuse_shared_paths(reader: NodeReader, raw: list[tuple[TextNode, dict[str, _Entry]]]) -> None:
    owners: dict[str, str] = {}
    for name, pairs in raw:
        for path, text in _paths(pairs):
            owned = path.rstrip("/")
            if owners.get(owned) == name.value:
                reader.report(text, f'layer "{name.value}" names {path} twice.', "Take one out.")
            elif owned in owners:
                shared_text = f'layers "{owners[owned]}" and "{name.value}" both own {path}.'
                reader.report(
                    text,
                    shared_text,
                    "Give it to one of them; a longer path wins over a shorter one.",
                )
            owners.setdefault(owned, name.value)


def _allowed(
    reader: NodeReader,
    name: TextNode,
    pairs: dict[str, _Entry],
    names: dict[str, TextNode],
    below: tuple[str, ...],
) -> tuple[tuple[str, ...], int]:
    """The layers that `name` may depend on, and the line of that rule."""
    if "may_depend_on" not in pairs:
        return (), name.line
    key, node = pairs["may_depend_on"]
    if isinstance(node, TextNode) and node.value == _LOWER:
        return below, key.line
    if isinstance(node, TextNode) and node.value:
        _refuse_text(reader, name.value, node, names)
        return (), key.line
    allowed = []
    for text in reader.texts(node, f'"may_depend_on" of layer "{name.value}"'):
        if text.value in names:
            allowed.append(text.value)
            continue
        unknown = f'layer "{name.value}" may depend on "{text.value}", which is not a layer.'
        listed = ", ".join(sorted(names))
        reader.report(text, f"{unknown} Layers: {listed}.", suggest_spelling(text.value, names))
    return tuple(dict.fromkeys(allowed)), key.line


def _refuse_text(
    reader: NodeReader, title: str, node: TextNode, names: dict[str, TextNode]
) -> None:
    if node.value in names:
        hint = f"Write [{node.value}]."
    else:
        hint = suggest_spelling(node.value, (_LOWER,)) or "Write [] for none."
    reader.report(
        node, f'"may_depend_on" of layer "{title}" must be a list of layers, or {_LOWER}.', hint
    )


def _choice(reader: NodeReader, pairs: dict[str, _Entry], key: str, options: Sequence[str]) -> str:
    """An optional choice; the first by default."""
    if key in pairs:
        return reader.choice(pairs[key][1], f'"{key}"', options)
    return options[0]


def _optional_text(reader: NodeReader, pairs: dict[str, _Entry], key: str, where: str) -> str:
    """An optional text; empty by default."""
    if key not in pairs:
        return ""
    return reader.text(pairs[key][1], f'"{key}"{where}')


_IGNORES: Final = {
    "ignore_imports": "list",
    "unmatched_ignore_imports_alerting": "alert",
    "broken_contract_guidance": "text",
}
CONTRACT_TYPES: Final[Table[str, Table[str, str]]] = {
    "forbidden": {
        "source_modules": "list!",
        "forbidden_modules": "list!",
        "allow_indirect_imports": "bool",
        "as_packages": "bool",
        **_IGNORES,
    },
    "layers": {
        "layers": "list!",
        "containers": "list",
        "exhaustive": "bool",
        "exhaustive_ignores": "list",
        **_IGNORES,
    },
    "independence": {"modules": "list!", **_IGNORES},
    "protected": {
        "protected_modules": "list!",
        "allowed_importers": "list!",
        "as_packages": "bool",
        **_IGNORES,
    },
    "acyclic_siblings": {
        "ancestors": "list!",
        "depth": "number",
        "skip_descendants": "list",
        **_IGNORES,
    },
}
"""Type → its options and what they hold; `!` marks those that it needs."""
_OWN: Final = ("name", "type", "id", "decision")
_SESSION: Final = ("root_packages", "include_external_packages", "exclude_type_checking_imports")
"""What import-linter takes for all contracts at once, and we for each."""
CUSTOM_TYPE: Final = "contract_types"
_ALERTS: Final = ("error", "warn", "none")
_REFUSED: Final = (
    '"contract_types" is not allowed: such contracts are code of the checkout, and none of it is'
    " run here."
)
_BUILT_IN: Final = f"Built-in types: {', '.join(CONTRACT_TYPES)}. Run lint-imports for others."


def _without_types(reader: NodeReader, node: Node) -> Node:
    """The node without the key `contract_types`, which is refused at its place."""
    if not isinstance(node, MapNode):
        return node
    # custom types are classes that import-linter imports from the checkout (ADR-0010)
    for key, _ in node.entries:
        if snake_case(key.value) == CUSTOM_TYPE:
            reader.report(key, _REFUSED, _BUILT_IN)
    entries = tuple(entry for entry in node.entries if snake_case(entry[0].value) != CUSTOM_TYPE)
    return MapNode(entries, node.line, node.column)


def _contracts(reader: NodeReader, node: Node) -> tuple[Contract, ...]:
    """Every contract of the list; what is wrong goes to the reader's problems."""
    names: dict[str, TextNode] = {}
    contracts = [_contract(reader, item, names) for item in reader.items(node, '"contracts"')]
    return tuple(contract for contract in contracts if contract is not None)


def _contract(reader: NodeReader, item: Node, names: dict[str, TextNode]) -> Contract | None:
    """One contract, None where it can't be made out."""
    if not isinstance(item, MapNode):
        reader.keys(item, _OWN, " in a contract")
        return None
    title, sort = (_text_node(item, key) for key in ("name", "type"))
    if title:
        where = f' in contract "{title.value}"'
    else:
        where = " in a contract"
    fields = _fields(reader, item, sort, where)
    # for a wrong type the options of all types are known, so that only the type is reported
    if fields:
        allowed_keys = (*_OWN, *fields, *_SESSION)
    else:
        allowed_keys = (*_OWN, *_SESSION, *(k for f in CONTRACT_TYPES.values() for k in f))
    pairs = reader.keys(_without_types(reader, item), allowed_keys, where)
    name = _name(reader, item, pairs, names)
    options = [
        _option(reader, pairs[key], key, sort_, where)
        for key, sort_ in fields.items()
        if key in pairs
    ]
    for key, sort_ in fields.items():
        if sort_.endswith("!") and key not in pairs:
            reader.report(
                title or item, f'contract "{title.value if title else ""}" has no "{key}".'
            )
    roots, externals, checking = (_session(reader, pairs, key, where) for key in _SESSION)
    decision = _optional_text(reader, pairs, "decision", where)
    line = title.line if title else item.line
    kind = sort.value if sort else ""
    chosen_options = tuple(option for option in options if option is not None)
    return Contract(
        name, kind, chosen_options, line, decision, tuple(roots), bool(externals), bool(checking)
    )


def _text_node(item: Node, wanted: str) -> TextNode | None:
    """The text of a key, for messages; None where there is none."""
    matching = (
        value for key, value in getattr(item, "entries", ()) if snake_case(key.value) == wanted
    )
    return next(
        (value for value in matching if isinstance(value, TextNode) and value.value.strip()), None
    )


def _fields(
    reader: NodeReader, item: MapNode, sort: TextNode | None, where: str
) -> Table[str, str]:
    """The options of the contract's type; a wrong type is reported and has none."""
    if sort is None:
        reader.report(item, f'"type" is missing{where}.', f"One of: {', '.join(CONTRACT_TYPES)}.")
        return {}
    if sort.value not in CONTRACT_TYPES:
        hint = suggest_spelling(sort.value, CONTRACT_TYPES) or _BUILT_IN
        reader.report(sort, f'"{sort.value}" is not a built-in type of import-linter{where}.', hint)
        return {}
    return CONTRACT_TYPES[sort.value]


def _name(
    reader: NodeReader, item: Node, pairs: dict[str, _Entry], names: dict[str, TextNode]
) -> str:
    if "name" not in pairs:
        reader.report(item, 'a contract without "name".')
        return ""
    node = pairs["name"][1]
    name = reader.text(node, '"name" of a contract')
    if name in names:
        reader.report(
            node, f'contract "{name}" is defined twice (first at line {names[name].line}).'
        )
    if name and isinstance(node, TextNode):
        names.setdefault(name, node)
    return name


def _option(reader: NodeReader, pair: _Entry, key: str, sort: str, where: str) -> Option | None:
    line = pair[0].line
    node = pair[1]
    what = f'"{key}"{where}'
    if sort.startswith("list"):
        values = _words(reader, node, what)
        if sort.endswith("!") and isinstance(node, ListNode) and not node.items:
            reader.report(node, f"{what} is empty.")
        return Option(key, tuple(values), line)
    if sort == "bool":
        return Option(key, str(reader.boolean(node, what, False)), line)
    if sort == "number":
        return Option(key, str(reader.number(node, what, 0, 1000, 10)), line)
    if sort == "alert":
        return Option(key, reader.choice(node, what, _ALERTS), line)
    text = reader.text(node, what)
    if not text:
        return None
    return Option(key, text, line)


def _session(reader: NodeReader, pairs: dict[str, _Entry], key: str, where: str) -> list[str]:
    """The value of a key that import-linter takes for all contracts; a boolean is empty for
    false.
    """
    if key not in pairs:
        return []
    what = f'"{key}"{where}'
    if key == "root_packages":
        return _words(reader, pairs[key][1], what)
    if not reader.boolean(pairs[key][1], what, False):
        return []
    return ["true"]


def _words(reader: NodeReader, node: Node, what: str) -> list[str]:
    """The texts of a list; a single text is a list of one."""
    if isinstance(node, TextNode) and node.value.strip():
        return [node.value]
    return [text.value for text in reader.texts(node, what)]


_KEYS: Final = (
    "version",
    "layers",
    "type_checking_imports",
    "exhaustive",
    "exceptions",
    "contracts",
    "indirect",
    "language",
    "unassigned_imports",
    "runtime_imports",
)
_EXCEPTION_KEYS: Final = ("from", "to", "until", "decision")


def read_manifest(path_name: str, text: bytes) -> Manifest:
    """The manifest in `text`. `path_name` is what messages and violations call it.

    Layers are listed from the bottom up: `below` means all layers listed before. Raises
    ManifestProblems with everything that is wrong.
    """
    root, problems = load_yaml(path_name, text)
    if root is None:
        raise ManifestProblems(
            problems or [Problem(path_name, 0, 0, "is empty.", _WRITE_NEW.capitalize())]
        )
    # a copy: the reader adds what it finds to the same list
    refused = tuple(problems)
    reader = NodeReader(path_name, problems)
    pairs = reader.keys(_without_types(reader, root), _KEYS)
    if "version" in pairs:
        reader.choice(pairs["version"][1], '"version"', ("1",))
    if "contracts" in pairs:
        contracts = _contracts(reader, pairs["contracts"][1])
    else:
        contracts = ()
    has_contracts = "contracts" in pairs and bool(getattr(pairs["contracts"][1], "items", ()))
    if (
        "layers" not in pairs
        and not has_contracts
        and isinstance(root, MapNode)
        and not _is_misspelt(root)
    ):
        reader.report(root, 'the key "layers" is missing.', f"Add it, or {_WRITE_NEW}")
    if "layers" in pairs:
        layers = _layers(reader, pairs["layers"][1], needed=not has_contracts)
    else:
        layers = ()
    mode = _choice(reader, pairs, "type_checking_imports", ("ignore", "enforce"))
    exhaustive = "exhaustive" in pairs and reader.boolean(
        pairs["exhaustive"][1], '"exhaustive"', False
    )
    unassigned = _choice(reader, pairs, "unassigned_imports", ("follow", "ignore"))
    runtime = _choice(reader, pairs, "runtime_imports", ("report", "forbid", "ignore"))
    indirect = _choice(reader, pairs, "indirect", ("ignore", "forbid"))
    if "exceptions" in pairs:
        exceptions = _exceptions(reader, pairs["exceptions"][1])
    else:
        exceptions = ()
    language = _optional_text(reader, pairs, "language", "")
    if "language" in pairs:
        place = pairs["language"][0].line
    else:
        place = 0
    if problems:
        raise ManifestProblems(_without_echo(refused, problems))
    last = (unassigned, runtime)
    return Manifest(
        path_name, layers, mode, exhaustive, exceptions, contracts, indirect, language, place, *last
    )


def _is_misspelt(root: MapNode) -> bool:
    """True where an unknown key was reported with the hint `layers`: then that is not missing as
    well.
    """
    words = [snake_case(key.value) for key, _ in root.entries]
    return any(
        word not in _KEYS and suggest_spelling(word, _KEYS) == suggest_spelling("layers", _KEYS)
        for word in words
    )


def _without_echo(refused: Sequence[Problem], problems: Sequence[Problem]) -> list[Problem]:
    """Where YAML itself was refused (an alias, a merge key), what else is wrong at that place
    follows from it.
    """
    places = {(one.line, one.column) for one in refused}
    return [
        *refused,
        *(one for one in problems[len(refused) :] if (one.line, one.column) not in places),
    ]


def _exceptions(reader: NodeReader, node: Node) -> tuple[Allowance, ...]:
    exceptions = []
    for item in reader.items(node, '"exceptions"'):
        pairs = reader.keys(item, _EXCEPTION_KEYS, " in an exception")
        missing = [key for key in ("from", "to") if key not in pairs]
        if missing:
            if pairs:
                reader.report(
                    item,
                    f'an exception without "{missing[0]}".',
                    "It needs from and to: modules or layers.",
                )
            continue
        source, target = (
            _optional_text(reader, pairs, key, " of an exception") for key in ("from", "to")
        )
        until = _optional_text(reader, pairs, "until", " of an exception")
        if until and not _is_day(until):
            reader.report(
                pairs["until"][1], f'"until" is "{until}", not a day.', "Write it as YYYY-MM-DD."
            )
        decision = _optional_text(reader, pairs, "decision", " of an exception")
        exceptions.append(Allowance(source, target, until, decision, item.line))
    return tuple(exceptions)


def _is_day(text: str) -> bool:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _clean_path(text: str) -> tuple[str, str]:
    """A path of the manifest in its one spelling, and a complaint (empty: fine), such as `is
    absolute`.

    A folder keeps or gets no special mark here: `src/a` covers the file `src/a` and everything in
    the folder.
    """
    # git lists paths with / on every system, and on POSIX a backslash is a part of a name
    if "\\" in text:
        return text, "has a backslash; write it with /"
    if text.startswith(("/", "~")):
        return text, "is absolute; write it from the top of the repository"
    if any(sign in text for sign in "*?["):
        return text, "is a pattern; name the folder itself"
    if not text.isprintable():
        return text, "has a sign that can't be printed"
    parts = [part for part in text.strip().split("/") if part not in ("", ".")]
    if ".." in parts:
        return text, "leads out of the repository (..)"
    if not parts:
        return _WHOLE_REPOSITORY, ""
    return "/".join(parts) + ("/" if text.strip().endswith("/") else ""), ""
