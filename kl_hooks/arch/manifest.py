"""The manifest in its compiled form: JSON in the cache, so that a commit parses no YAML."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kl_hooks.config.compile_cache import load_compiled
from kl_hooks.model.manifest import Allowance, Layer, Manifest

if TYPE_CHECKING:
    from kl_hooks.model.contract import Contract


# part of the entry's name in the cache: a new number where the form below changes, or old entries
# would be read
_KIND = "manifest-6"


def load_manifest(cache_dir: Path | None, path_name: str, text: bytes) -> Manifest:
    """The manifest in `text`, from its compiled form where there is one.

    Raises ManifestProblems.
    """

    def compile() -> dict[str, Any]:
        from kl_hooks.arch.manifest_parser import read_manifest

        return manifest_to_dict(read_manifest(path_name, text))

    try:
        return manifest_from_dict(path_name, load_compiled(cache_dir, text, _KIND, compile))
    except (KeyError, TypeError, ValueError):
        # an entry that is whole but not ours; what compile() gives always fits
        return manifest_from_dict(path_name, compile())


def manifest_to_dict(manifest: Manifest) -> dict[str, Any]:
    """Return the manifest as JSON can store it, without the name of the file."""
    return {
        "layers": [
            [x.name, list(x.paths), list(x.may_depend_on), x.line, x.decision, list(x.namespaces)]
            for x in manifest.layers
        ],
        "type_checking_imports": manifest.type_checking_imports,
        "exhaustive": manifest.exhaustive,
        "indirect": manifest.indirect,
        "unassigned_imports": manifest.unassigned_imports,
        "runtime_imports": manifest.runtime_imports,
        "language": [manifest.language, manifest.language_line],
        "exceptions": [
            [x.source, x.target, x.until, x.decision, x.line] for x in manifest.exceptions
        ],
        "contracts": [_contract_plain(one) for one in manifest.contracts],
    }


def manifest_from_dict(path_name: str, value: Any) -> Manifest:
    """The way back. KeyError, TypeError or ValueError for anything else than `manifest_to_dict`
    gives.
    """
    layers = [
        Layer(
            _text(name),
            _texts(paths),
            _texts(allowed),
            _number(line),
            _text(decision),
            _texts(namespaces),
        )
        for name, paths, allowed, line, decision, namespaces in value["layers"]
    ]
    exceptions = [
        Allowance(_text(source), _text(target), _text(until), _text(decision), _number(line))
        for source, target, until, decision, line in value["exceptions"]
    ]
    if (
        value["type_checking_imports"] not in ("ignore", "enforce")
        or type(value["exhaustive"]) is not bool
    ):
        raise ValueError("not a compiled manifest")
    mode = value["type_checking_imports"]
    exhaustive = value["exhaustive"]
    contracts = tuple(_contract(one) for one in value["contracts"])
    indirect = value["indirect"]
    if indirect not in ("ignore", "forbid"):
        raise ValueError("not a compiled manifest")
    if value["unassigned_imports"] not in ("follow", "ignore"):
        raise ValueError("not a compiled manifest")
    if value["runtime_imports"] not in ("report", "forbid", "ignore"):
        raise ValueError("not a compiled manifest")
    language, place = value["language"]
    last = (value["unassigned_imports"], value["runtime_imports"])
    further_fields = (contracts, indirect, _text(language), _number(place), *last)
    return Manifest(path_name, tuple(layers), mode, exhaustive, tuple(exceptions), *further_fields)


def _contract_plain(contract: Contract) -> list[Any]:
    options = [
        [x.key, x.value if isinstance(x.value, str) else list(x.value), x.line]
        for x in contract.options
    ]
    session = [
        list(contract.root_packages),
        contract.include_external_packages,
        contract.exclude_type_checking_imports,
    ]
    return [contract.name, contract.type, options, contract.line, contract.decision, *session]


def _contract(value: Any) -> Contract:
    from kl_hooks.model.contract import Contract, Option

    name, sort, options, line, decision, roots, externals, checking = value
    contract_options = [
        Option(
            _text(key),
            _texts(value_or_list) if isinstance(value_or_list, list) else _text(value_or_list),
            _number(place),
        )
        for key, value_or_list, place in options
    ]
    if type(externals) is not bool or type(checking) is not bool:
        raise TypeError("not a boolean")
    words = (_text(name), _text(sort), tuple(contract_options), _number(line), _text(decision))
    return Contract(*words, _texts(roots), externals, checking)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError("not a text")
    return str(value)


def _texts(value: Any) -> tuple[str, ...]:
    if type(value) is not list:
        raise TypeError("not a list")
    return tuple(_text(item) for item in value)


def _number(value: Any) -> int:
    if type(value) is not int:
        raise TypeError("not a number")
    return int(value)
