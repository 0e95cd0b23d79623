"""The manifest as plain data and back, so that a commit reads its compiled form and no YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kl_hooks.config.compiled import compiled
from kl_hooks.model.manifest import Allowance, Layer, Manifest

_KIND = "manifest-1"


def load_manifest(cache_dir: Path | None, path_name: str, text: bytes) -> Manifest:
    """The manifest in `text`, from its compiled form where there is one. Raises ManifestProblems."""

    def compile() -> dict[str, Any]:
        from kl_hooks.arch.manifest import read_manifest

        return plain(read_manifest(path_name, text))

    try:
        return from_plain(path_name, compiled(cache_dir, text, _KIND, compile))
    except (KeyError, TypeError, ValueError):
        # an entry that is whole but not ours; what compile() gives always fits
        return from_plain(path_name, compile())


def plain(manifest: Manifest) -> dict[str, Any]:
    """What JSON can hold; the name of the file is left out."""
    return {
        "layers": [[x.name, list(x.paths), list(x.may_depend_on), x.line, x.decision] for x in manifest.layers],
        "type_checking_imports": manifest.type_checking_imports,
        "exhaustive": manifest.exhaustive,
        "exceptions": [[x.source, x.target, x.until, x.decision, x.line] for x in manifest.exceptions],
    }


def from_plain(path_name: str, value: Any) -> Manifest:
    """The way back. KeyError, TypeError or ValueError for anything else than `plain` gives."""
    layers = [
        Layer(_text(name), _texts(paths), _texts(allowed), _number(line), _text(decision))
        for name, paths, allowed, line, decision in value["layers"]
    ]
    exceptions = [
        Allowance(_text(source), _text(target), _text(until), _text(decision), _number(line))
        for source, target, until, decision, line in value["exceptions"]
    ]
    if value["type_checking_imports"] not in ("ignore", "enforce") or type(value["exhaustive"]) is not bool:
        raise ValueError("not a compiled manifest")
    mode, exhaustive = value["type_checking_imports"], value["exhaustive"]
    return Manifest(path_name, tuple(layers), mode, exhaustive, tuple(exceptions))


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
