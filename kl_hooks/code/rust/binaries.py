"""What cargo-nextest calls a test of a file: the binary that has it, and its path in there.

https://nexte.st/docs/glossary/#binary-id
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from kl_hooks.code.rust.modules import PACKAGE, identifier, manifest_of, module_path, targets_of

if TYPE_CHECKING:
    from kl_hooks.code.module_systems import FileView

_KIND_OF_FOLDER: Final = {
    "src/bin": "bin",
    "tests": "test",
    "examples": "example",
    "benches": "bench",
}
"""The folder of a target that Cargo finds by itself → its kind, as the tables of `Cargo.toml` name
it.
"""


def name_in_report(test: str, view: FileView) -> str:
    """`cart::totals::tests::adds` of `src/totals.rs::tests::adds` in the package `cart`; empty
    where the file is in no binary that a `Cargo.toml` of the repository describes.

    `-` in names of packages and binaries is `_` here, as of `modules.identifier`.
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
            return _binary_id(package, kind, name)
    if inner == "src/main.rs":
        return _binary_id(package, "bin", package)
    folder, name = posixpath.split(inner)
    if name == "main.rs":
        folder, name = posixpath.split(folder)
    kind = _KIND_OF_FOLDER.get(folder, "")
    return _binary_id(package, kind, identifier(name.removesuffix(".rs"))) if kind else ""


def _binary_id(package: str, kind: str, name: str) -> str:
    return f"{package}::{name}" if kind == "test" else f"{package}::{kind}/{name}"
