"""Imported: another tool's set-up in the words of our manifest, and its text. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kl_hooks.arch.draft import quoted
from kl_hooks.model.contract import Contract
from kl_hooks.model.manifest import Allowance, Layer, Manifest
from kl_hooks.model.text import one_line

_WIDTH = 110


@dataclass(frozen=True, slots=True)
class Imported:
    """What was read from another tool's configuration."""

    origin: str
    """The file it was read from."""
    layers: tuple[Layer, ...] = ()
    contracts: tuple[Contract, ...] = ()
    type_checking_imports: str = "ignore"
    exhaustive: bool = False
    exceptions: tuple[Allowance, ...] = ()
    comments: Mapping[str, str] = field(default_factory=dict)
    """Name of a layer or contract → where it comes from."""
    unassigned_imports: str = "follow"
    """`ignore` where the other tool looks at each import by itself."""
    left: tuple[str, ...] = ()
    """What could not be translated, a line each."""

    def manifest(self, path_name: str) -> Manifest:
        """As a manifest; its line numbers mean nothing."""
        rest = (self.type_checking_imports, self.exhaustive, self.exceptions, self.contracts)
        return Manifest(path_name, self.layers, *rest, unassigned_imports=self.unassigned_imports)


def imported_text(found: Imported) -> str:
    """The text of `.kl/architecture.yaml`; reading it back gives what was found."""
    lines = [f"# From {_comment(found.origin)} by kl arch import. Review it, then see: kl arch check"]
    lines += [f"# Not translated: {_comment(line)}" for line in found.left]
    lines += ["version: 1", ""]
    if found.layers:
        lines.append("layers:")
        for layer in found.layers:
            lines += [*_said(found, layer.name), f"  - name: {quoted(layer.name)}"]
            lines += [*_value("paths", layer.paths), *_value("may_depend_on", layer.may_depend_on)]
        lines += [
            "",
            f"type_checking_imports: {found.type_checking_imports}",
            f"exhaustive: {str(found.exhaustive).lower()}",
        ]
        if found.unassigned_imports != "follow":
            lines.append(f"unassigned_imports: {found.unassigned_imports}")
    if found.exceptions:
        lines.append("exceptions:")
        lines += [f"  - {{from: {quoted(one.source)}, to: {quoted(one.target)}}}" for one in found.exceptions]
    if found.contracts:
        lines += ["", "contracts:  # run by import-linter itself"] if found.layers else ["contracts:"]
        for contract in found.contracts:
            lines += [*_said(found, contract.name), *_contract(contract)]
    if not found.layers and not found.contracts:
        lines.append("layers: []")
    return "\n".join(lines) + "\n"


def _contract(contract: Contract) -> Iterable[str]:
    yield f"  - name: {quoted(contract.name)}"
    yield f"    type: {contract.type}"
    for option in contract.options:
        yield from _value(option.key, option.value)
    yield from _value("root_packages", contract.root_packages)
    for key in ("include_external_packages", "exclude_type_checking_imports"):
        if getattr(contract, key):
            yield f"    {key}: true"


def _value(key: str, value: str | tuple[str, ...]) -> list[str]:
    """A key with a text or a list: on one line where it fits, else one word a line."""
    if isinstance(value, str):
        plain = value.lower() if value in ("True", "False") else value if value.isdecimal() else quoted(value)
        return [f"    {key}: {plain}"]
    line = f"    {key}: [" + ", ".join(quoted(word) for word in value) + "]"
    return [line] if len(line) <= _WIDTH else [f"    {key}:", *(f"      - {quoted(word)}" for word in value)]


def _said(found: Imported, name: str) -> list[str]:
    return [f"  # {_comment(found.comments[name])}"] if name in found.comments else []


def _comment(line: str) -> str:
    return one_line(line, 300).replace("\n", " ")
