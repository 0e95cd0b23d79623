"""What cargo-nextest calls a test of a file: the binary that has it, and its path in there.

https://nexte.st/docs/glossary/#binary-id
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from kl_hooks.code.rust.modules import PACKAGE, identifier, manifest_of, module_path, targets_of

if TYPE_CHECKING:
    from kl_hooks.code.module_systems import FileView

_KINDS: Final = {
    "src/bin": "bin/",
    "tests": "",
    "examples": "example/",
    "benches": "bench/",
}
"""The folder of a target that Cargo finds by itself → what comes before its name."""
_KINDS_OF_TABLES: Final = {"bin": "bin/", "test": "", "example": "example/", "bench": "bench/"}
"""The table of a target in `Cargo.toml` → the same."""


def name_in_report(test: str, view: FileView) -> str:
    """`cart::totals::tests::adds` of `src/totals.rs::tests::adds` in the package `cart`; empty
    where the file is in no binary that a `Cargo.toml` of the repository describes.

    `-` in names of packages and binaries is `_` here; see `report_name`.
    """
    path, _, inner = test.partition("::")
    module = module_path(path, view)
    if module is None:
        return ""
    root, outer = module
    binary = _binary(root, view)
    if not binary:
        return ""
    return "::".join(filter(None, (binary, outer.replace(".", "::"), inner)))


def report_name(name: str) -> str:
    """A name of a report as `name_in_report` writes it."""
    return identifier(name)


def _binary(root: str, view: FileView) -> str:
    """The ID of the binary whose first file is `root`; empty where it is not known."""
    manifest = manifest_of(root, view)
    settings = view.settings(manifest) if manifest else {}
    package = settings.get("name", "").removeprefix(PACKAGE)
    if not package:
        return ""
    inner = posixpath.relpath(root, posixpath.dirname(manifest) or ".")
    if inner == posixpath.normpath(settings.get("library", "src/lib.rs")):
        return package
    for kind, name, path in targets_of(settings):
        if posixpath.normpath(path) == inner:
            return f"{package}::{_KINDS_OF_TABLES[kind]}{name}"
    if inner == "src/main.rs":
        return f"{package}::bin/{package}"
    folder, name = posixpath.split(inner)
    if name == "main.rs":
        folder, name = posixpath.split(folder)
    if folder in _KINDS:
        return f"{package}::{_KINDS[folder]}{identifier(name.removesuffix('.rs'))}"
    return ""
