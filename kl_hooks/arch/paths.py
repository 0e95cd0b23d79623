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
    if not text.isprintable():
        return text, "has a sign that can't be printed"
    parts = [part for part in text.strip().split("/") if part not in ("", ".")]
    if ".." in parts:
        return text, "leads out of the repository (..)"
    if not parts:
        return WHOLE, ""
    return "/".join(parts) + ("/" if text.strip().endswith("/") else ""), ""


def covers(path: str, file: str) -> bool:
    """True if the path of a layer is this file or a folder above it."""
    return path == WHOLE or file == path or file.startswith(path if path.endswith("/") else path + "/")


def owner_by_name(layers: Iterable[Layer]) -> Callable[[str], Layer | None]:
    """A function from a dotted name to the layer whose `namespaces` cover it; the longest wins, None: no layer's."""
    by_name = {name: layer for layer in layers for name in layer.namespaces}

    def of(dotted: str) -> Layer | None:
        while dotted and dotted not in by_name:
            dotted = dotted.rpartition(".")[0]
        return by_name.get(dotted)

    return of if by_name else lambda dotted: None


def owner(layers: Iterable[Layer]) -> Callable[[str], Layer | None]:
    """A function from a file to its layer. The longest path that covers the file wins; None: no layer's."""
    by_path: dict[str, Layer | None] = {path.rstrip("/"): layer for layer in layers for path in layer.paths}
    by_path[""] = by_path.pop(".", None)

    def of(file: str) -> Layer | None:
        passed, place = [], file
        while place not in by_path:
            passed.append(place)
            place = place.rpartition("/")[0]
        for folder in passed[1:]:  # most files share theirs with others
            by_path[folder] = by_path[place]
        return by_path[place]

    return of
