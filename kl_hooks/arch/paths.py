"""Which layer owns a file: the longest path of the manifest that covers it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kl_hooks.model.manifest import Layer

WHOLE = "./"
"""The path that covers the whole repository."""


def clean_path(text: str) -> tuple[str, str]:
    """A path of the manifest in its one spelling, and a complaint (empty: fine), such as `is absolute`.

    A folder keeps or gets no special mark here: `src/a` covers the file `src/a` and everything in the folder.
    """
    if "\\" in text:
        return text, "has a backslash; write it with /"
    if text.startswith(("/", "~")):
        return text, "is absolute; write it from the top of the repository"
    if any(sign in text for sign in "*?["):
        return text, "is a pattern; name the folder itself"
    parts = [part for part in text.strip().split("/") if part not in ("", ".")]
    if ".." in parts:
        return text, "leads out of the repository (..)"
    if not parts:
        return WHOLE, ""
    return "/".join(parts) + ("/" if text.strip().endswith("/") else ""), ""


def covers(path: str, file: str) -> bool:
    """True if the path of a layer is this file or a folder above it."""
    return path == WHOLE or file == path or file.startswith(path if path.endswith("/") else path + "/")


def owner(layers: Iterable[Layer]) -> Callable[[str], Layer | None]:
    """A function from a file to its layer. The longest path that covers the file wins; None: no layer's."""
    by_path = {path.rstrip("/"): layer for layer in layers for path in layer.paths}
    whole = by_path.pop(".", None)

    def of(file: str) -> Layer | None:
        place = file
        while place:
            if place in by_path:
                return by_path[place]
            place = place.rpartition("/")[0]
        return whole

    return of
