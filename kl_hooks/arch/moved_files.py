"""Layers that lost their files: a folder that was moved or removed, and files that a move took out
of every layer.

A path of a layer that matches nothing forbids nothing. Whether it ever matched is asked of git, and
only where a path matches no file now (ADR-0059): of the contents that the check compares with, then
of the history. The new folder is found by git's renames, files of the same content, and files of
the same names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from shlex import quote
from typing import Final

from kl_hooks.arch.content import STAGED, WORKTREE, Content, Rules
from kl_hooks.arch.layers import covers, layer_lookup, unmatched_paths
from kl_hooks.code.languages import READ_NAMES, is_file_module, is_source
from kl_hooks.code.modules import plain_name
from kl_hooks.errors import KlError
from kl_hooks.git.files import UNREADABLE_BLOB, files_at
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.manifest import Layer, Manifest
from kl_hooks.model.problem import Problem
from kl_hooks.model.text import counted

_LayerOf = Callable[[str], Layer | None]
"""From a file to its layer."""
_MOST_FOLDERS: Final = 3
"""Folders that a message names."""
_MOVED_HINT: Final = "Name their new folder in the paths of a layer, or review this move by itself."


class EarlierContent(NamedTuple):
    """The source files of an earlier content, and where those that it lost are now."""

    since: str
    """For messages: `since HEAD`, `in 1a2b3c4d5e6f`."""
    files: Mapping[str, str]
    """Path → blob."""
    moved: Mapping[str, str]
    """Path that is not there any more → the new path of the same file."""


@dataclass(slots=True)
class EarlierContents:
    """The contents that may show that a path matched files once, each read when it is asked for."""

    content: Content
    revisions: Sequence[tuple[str, str]]
    """(text for messages, revision), in the order in which they are asked."""
    _read: dict[str, EarlierContent | None] = field(default_factory=dict)

    def with_files_at(self, path: str) -> EarlierContent | None:
        """The first of these contents with files at a path of a layer; None where the path never
        matched.
        """
        for since, revision in self.revisions:
            earlier = self.at(revision, since)
            if earlier and any(covers(path, file) for file in earlier.files):
                return earlier
        content = self.content
        start = self.content.source
        try:
            if start in (STAGED, WORKTREE):
                head = "HEAD"
            else:
                head = start
            # git's history is asked only where a path matches no file
            from kl_hooks.git.renames import last_commit_touching

            commit = last_commit_touching(content.repo, head, [path.rstrip("/")])
        except KlError:  # no commit yet
            return None
        if commit:
            earlier = self.at(f"{commit}^", f"in {commit[:12]}")
        else:
            earlier = None
        if earlier and any(covers(path, file) for file in earlier.files):
            return earlier
        return None

    def at(self, revision: str, since: str) -> EarlierContent | None:
        """The content of a revision; None where git knows no such revision."""
        if revision not in self._read:
            try:
                self._read[revision] = _earlier(self.content, revision, since)
            except KlError:  # a first commit, or a history that is cut off
                self._read[revision] = None
        return self._read[revision]


def _earlier(content: Content, revision: str, since: str) -> EarlierContent:
    files = {
        entry.path: entry.blob
        for entry in files_at(content.repo, revision, READ_NAMES)
        if is_source(entry.path)
    }
    now = {entry.path: entry.blob for entry in content.entries if is_source(entry.path)}
    # the working tree is compared by its index: git would run filters to read files on disk
    if content.source in (STAGED, WORKTREE):
        after = ""
    else:
        after = content.source
    from kl_hooks.git.renames import renamed_files

    renamed = renamed_files(content.repo, revision, after)
    moved = {old: new for old, new in renamed.items() if old not in now and new in now}
    return EarlierContent(since, files, moved | _same_content(files, now, moved))


def _same_content(
    before: Mapping[str, str], now: Mapping[str, str], moved: Mapping[str, str]
) -> dict[str, str]:
    """Old path → new path, of files that git does not know as renamed (it does not compare
    untracked ones) and that have the same content: the pair whose paths end alike.
    """
    lost = {path: blob for path, blob in before.items() if path not in now and path not in moved}
    taken = set(moved.values())
    added: dict[str, list[str]] = {}
    for path, blob in now.items():
        if path not in before and path not in taken and blob != UNREADABLE_BLOB:
            added.setdefault(blob, []).append(path)
    pairs = {}
    for old, blob in sorted(lost.items()):
        candidates = [path for path in added.get(blob, ()) if path not in taken]
        if candidates:
            pairs[old] = max(candidates, key=lambda path: (_common_end(old, path), path))
            taken.add(pairs[old])
    return pairs


def _common_end(path: str, other: str) -> int:
    """How many parts two paths have in common, from the end."""
    parts = zip(reversed(path.split("/")), reversed(other.split("/")), strict=False)
    count = 0
    for first, second in parts:
        if first != second:
            break
        count += 1
    return count


def folder_now(path: str, earlier: EarlierContent, now: Iterable[str]) -> str:
    """The folder (or file, for a path that was one) where most files of a path are now; empty for
    none.

    A file counts for a folder if it was moved there, or if a new file there has its name within
    `path`. The folder around `path` is no new place of it.
    """
    files = [file for file in earlier.files if covers(path, file)]
    if files == [path]:
        return earlier.moved.get(path, "")
    start = path.rstrip("/") + "/"
    added = [file for file in now if file not in earlier.files]
    votes: Counter[str] = Counter()
    for file in files:
        name = file.removeprefix(start)
        target = earlier.moved.get(file, "")
        places = {new.removesuffix(name) for new in added if new.endswith("/" + name)}
        if "/" in target and not target.endswith("/" + name):
            places.add(target.rpartition("/")[0] + "/")
        votes.update(places)
    folder, count = max(votes.items(), key=lambda vote: (vote[1], vote[0]), default=("", 0))
    if count * 2 > len(files) and not start.startswith(folder):
        return folder
    return ""


def check_unmatched(
    manifest: Manifest,
    content: Content,
    modules: Mapping[str, str],
    unmatched: Sequence[tuple[Layer, str]],
    revisions: Sequence[tuple[str, str]],
    accepted_layers: Callable[[], Mapping[str, int]],
) -> tuple[list[Problem], list[Problem]]:
    """Errors for paths of layers that match no file any more, and warnings for layers that never
    had one.

    `unmatched`: what `unmatched_paths` found. `revisions`: (text for messages, revision) to compare
    with, before the history. `accepted_layers`: layer → how many imports of it the baseline
    accepts; asked only for a layer without files.
    """
    earlier = EarlierContents(content, revisions)
    errors = list[Problem]()
    warnings = list[Problem]()
    empty = dict.fromkeys(layer.name for layer, _ in unmatched)
    for layer in manifest.layers:
        if layer.name not in empty:
            continue
        paths = [path for other, path in unmatched if other.name == layer.name]
        problems = [
            _lost(manifest, layer, path, before, modules)
            for path in paths
            if (before := earlier.with_files_at(path)) is not None
        ]
        errors += problems
        if problems or len(paths) < len(layer.paths) or layer.namespaces:
            continue
        entries = accepted_layers().get(layer.name, 0)
        listed = ", ".join(layer.paths)
        if entries:
            errors.append(_lost_by_baseline(manifest, layer, entries))
        else:
            # a warning: on a branch without the folder nothing is wrong with the commit (ADR-0011)
            message = f'layer "{layer.name}" matches no file (paths: {listed}).'
            warnings.append(Problem(manifest.path, 0, 0, message, _closest(layer, modules)))
    return errors, warnings


def _lost(
    manifest: Manifest,
    layer: Layer,
    path: str,
    earlier: EarlierContent,
    modules: Mapping[str, str],
) -> Problem:
    """The error for a path that matched files in an earlier content."""
    files = [file for file in earlier.files if covers(path, file)]
    folder = folder_now(path, earlier, modules)
    lost = f'layer "{layer.name}" lost {counted(len(files), "file")} {earlier.since}'
    places = Counter(
        earlier.moved[file].rpartition("/")[0] or "." for file in files if file in earlier.moved
    )
    if folder:
        message = f"{path} is now {folder}: {lost}."
        hint = f"kl arch mv {quote(path.rstrip('/'))} {quote(folder.rstrip('/'))}"
    elif places:
        named = [f"{count} in {place}/" for place, count in places.most_common(_MOST_FOLDERS)]
        message = f"{path} matches no file any more: {lost} (now {', '.join(named)})."
        hint = f'Name them in the paths of layer "{layer.name}", or remove the path.'
    else:
        message = f"{path} was removed: {lost}."
        hint = (
            "Remove the path, or the layer; if its files are in another folder:"
            f" kl arch mv {quote(path.rstrip('/'))} FOLDER"
        )
    return Problem(manifest.path, layer.line, 1, message, hint)


def _lost_by_baseline(manifest: Manifest, layer: Layer, entries: int) -> Problem:
    message = (
        f'layer "{layer.name}" matches no file (paths: {", ".join(layer.paths)}), but'
        f" .kl/baseline.json accepts {counted(entries, 'import')} of it."
    )
    hint = (
        f"Name the folder of its files: kl arch mv {quote(layer.paths[0].rstrip('/'))} FOLDER; or"
        " remove the layer and its entries."
    )
    return Problem(manifest.path, layer.line, 1, message, hint)


def _closest(layer: Layer, modules: Mapping[str, str]) -> str:
    """The folder of the repository that is spelled most like the layer's first path."""
    folders = {path.rpartition("/")[0] + "/" for path in modules if "/" in path}
    close = get_close_matches(layer.paths[0], sorted(folders), n=1, cutoff=0.6)
    if not close:
        return ""
    return f"Closest: {close[0]}."


class MovedModules:
    """The files that were moved since an earlier content, compared by the layers of both.

    `before`: the rules of the earlier content, `old` its manifest; `manifest`, `modules` (path →
    dotted name): those of the judged content.
    """

    def __init__(
        self,
        before: Rules,
        old: Manifest,
        manifest: Manifest,
        content: Content,
        modules: Mapping[str, str],
    ) -> None:
        self._before = before
        self._old = old
        self._manifest = manifest
        self._content, self._modules = content, modules

    @cached_property
    def _moved(self) -> Mapping[str, str]:
        """Old path → new path."""
        earlier = EarlierContents(self._content, ()).at(self._before.rev, "")
        if not earlier:
            return {}
        return earlier.moved

    def out_of_layers(self) -> Iterator[Problem]:
        """The files that were in a layer and are in none after a move, a problem for each layer.

        Files of a path that matches nothing any more are left to `check_unmatched`.
        """
        old_layer = layer_lookup(self._old.layers)
        new_layer = layer_lookup(self._manifest.layers)
        if not self._may_leave(old_layer, new_layer):
            return
        emptied = [path for _, path in unmatched_paths(self._manifest, self._modules)]
        pairs: dict[str, list[tuple[str, str]]] = {}
        for old, new in sorted(self._moved.items()):
            layer = old_layer(old)
            unassigned = new in self._modules and new_layer(new) is None
            if layer and unassigned and not any(covers(path, old) for path in emptied):
                pairs.setdefault(layer.name, []).append((old, new))
        lines = {layer.name: layer.line for layer in self._manifest.layers}
        for name, moves in pairs.items():
            old, new = moves[0]
            text = (
                f"{counted(len(moves), 'file')} of {name} moved to where no layer is: "
                f"{old} to {new}"
            )
            if len(moves) > 1:
                text += ", and others"
            yield self._before.loosened(self._manifest.path, lines.get(name, 0), text, _MOVED_HINT)

    def _may_leave(self, old_layer: _LayerOf, new_layer: _LayerOf) -> bool:
        """False where surely no file of a layer was moved to where none is: most commits need no
        comparison of files.
        """
        if self._content.source != STAGED or self._before.rev != "HEAD":
            return True
        try:
            changes = self._content.staged_changes()
        except KlError:
            return True
        lost = any(not state and old_layer(path) for path, state in changes.items())
        return lost and any(state and not new_layer(path) for path, state in changes.items())

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Dotted name before → after, of the modules of moved files."""
        names = {}
        for old, new in self._moved.items():
            if new not in self._modules:
                continue
            after = plain_name(self._modules[new])
            if is_file_module(new):
                names[old] = after
                continue
            # the folder that the names start from; where that differs, `src` is the usual one
            root = _dotted_path(new).removesuffix(after)
            before = _dotted_path(old)
            if root and not before.startswith(root):
                if before.startswith("src."):
                    root = "src."
                else:
                    root = ""
            names[before.removeprefix(root)] = after
        return names


def _dotted_path(path: str) -> str:
    """A path as a dotted name, with every folder of it."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


_NAME: Final = lazy_pattern(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


def renamed_module(name: str, names: Mapping[str, str]) -> str:
    """A dotted name under its new name; of what is in a module, by the longest module of `names`
    (before → after) that it starts with.
    """
    module = name
    while module:
        if module in names:
            return names[module] + name[len(module) :]
        module = module.rpartition(".")[0]
    return name


def renamed_in_text(text: str, names: Mapping[str, str], containers: Sequence[str] = ()) -> str:
    """A text with the new names of the modules in it, such as `shop.api.* -> shop.core`.

    `containers`: packages that the names are relative to.
    """

    def renamed(match: re.Match[str]) -> str:
        for container in containers:
            before = f"{container}.{match[0]}"
            after = renamed_module(before, names)
            if after != before and after.startswith(f"{container}."):
                return after.removeprefix(f"{container}.")
        if containers:
            return match[0]
        return renamed_module(match[0], names)

    return _NAME.sub(renamed, text)
