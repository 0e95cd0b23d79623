"""Which file an import means: the rules of Node and of the TypeScript compiler, within the
repository.

In this order: a path from the importing file, with the endings and the `index` of the compiler;
`paths` and `baseUrl` of the nearest `tsconfig.json`, through `extends` and `references`; `imports`
of the nearest `package.json` (`#name`); a package of the repository by its name, with `exports`,
`types` and `main`.
"""

from __future__ import annotations

import posixpath
from typing import Final

from kl_hooks.code.module_systems import FileView, ImportTarget
from kl_hooks.code.typescript.compiler_paths import mapped_paths
from kl_hooks.code.typescript.packages import package_file, private_import, source_at


class NodeModules:
    """The module system of TypeScript and JavaScript."""

    constructor: str = "constructor"

    def find(self, specifier: str, importer: str, view: FileView) -> ImportTarget | None:
        """The file that a specifier means."""
        written, folder = specifier.partition("?")[0], posixpath.dirname(importer)
        path = view.once(("import", written, folder), lambda: _find(written, folder, view))
        return ImportTarget(path) if path else None

    def outside(self, specifier: str, importer: str) -> str:
        """`node_modules/react`; `web/missing` for a path that no source has."""
        if specifier.startswith("."):
            return posixpath.normpath(posixpath.join(posixpath.dirname(importer), specifier))
        if ":" in specifier:
            return specifier
        return f"node_modules/{specifier}"


NODE: Final = NodeModules()


def _find(specifier: str, folder: str, view: FileView) -> str:
    """The file that a specifier means in a folder; empty for none of the repository."""
    if specifier.startswith(("./", "../")) or specifier in (".", ".."):
        return source_at(posixpath.join(folder, specifier), view)
    if not specifier or specifier.startswith("/"):
        return ""
    for path in mapped_paths(specifier, folder, view):
        source = source_at(path, view)
        if source:
            return source
    if specifier.startswith("#"):
        return private_import(specifier, folder, view)
    return package_file(specifier, folder, view)
