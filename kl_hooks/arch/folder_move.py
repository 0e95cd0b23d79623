"""`kl arch mv`: a folder or file has a new path; the manifest, the baseline and, if asked, imports
get it.

Names in the manifest are replaced at the places that YAML's parser gives, so that comments and
layout stay. What is written reads as the manifest did, with the new names and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from kl_hooks.arch.autofix import FileChange, replace_files
from kl_hooks.arch.baseline import BaselineEntry, baseline_bytes, read_baseline
from kl_hooks.arch.content import WORKTREE, load_content, require_repository
from kl_hooks.arch.import_survey import Survey, survey_imports
from kl_hooks.arch.layers import ManifestProblems, layer_lookup
from kl_hooks.arch.manifest_parser import read_manifest
from kl_hooks.arch.moved_files import renamed_in_text, renamed_module
from kl_hooks.arch.propose import yaml_quoted
from kl_hooks.code.import_edits import Unfixable
from kl_hooks.code.import_moves import ModuleNames, rewrite_moved_imports
from kl_hooks.code.languages import is_file_module
from kl_hooks.code.modules import imported_names, module_names, plain_name
from kl_hooks.config.yaml import snake_case
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.git.repository import Repository
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.manifest import BASELINE, MANIFEST, Manifest
from kl_hooks.model.symbol import split_id
from kl_hooks.model.text import counted, one_line, suggest_spelling
from kl_hooks.store.files import folder_lock
from kl_hooks.workspace import Workspace

_NO_NAMES: Final = ("name", "type", "id", "decision", "broken_contract_guidance")
"""Options of a contract whose values name no modules."""
_MOST: Final = 20
"""Places of one list that are printed."""


class _Paths(NamedTuple):
    """The old and the new path, without `/` at the end."""

    old: str
    new: str

    def now(self, path: str) -> str:
        """A path under its new name, spelled as it was."""
        return _moved(path, self.old, self.new)

    def before(self, path: str) -> str:
        """A path under its old name."""
        return _moved(path, self.new, self.old)


def _moved(path: str, old: str, new: str) -> str:
    if not f"{path.rstrip('/')}/".startswith(f"{old}/"):
        return path
    return new + path[len(old) :]


class FolderMove(NamedTuple):
    """What `kl arch mv` did, or would do."""

    old: str
    new: str
    changes: tuple[FileChange, ...]
    counts: Mapping[str, int]
    """`paths`, `names` (of modules, in the manifest), `entries` (of the baseline), `imports`."""
    left: tuple[tuple[str, int, str], ...] = ()
    """(path, line, reason) of imports and strings that still have an old name."""
    unlayered: tuple[str, ...] = ()
    """Files of the folder that were in a layer and are in none under the new path."""
    waiting: bool = False
    """Whether the files are at their old path still."""
    notes: tuple[str, ...] = ()

    def lines(self, *, written: bool) -> list[str]:
        """The lines to print; `written`: this was no dry run."""
        lines = [line for change in self.changes for line in change.diff()]
        if lines:
            lines += [""]
        for path, line, reason in self.left[:_MOST]:
            lines.append(f"{one_line(path)}:{line}: not changed: {reason}")
        if len(self.left) > _MOST:
            lines.append(f"... and {len(self.left) - _MOST} more places: --format json")
        if self.unlayered:
            lines.append(
                f"warning: {counted(len(self.unlayered), 'file')} would leave all layers, such as"
                f" {one_line(self.unlayered[0])}: name {self.new} in the paths of a layer."
            )
        return [*lines, self._summary(written), *self._next(written)]

    def _summary(self, written: bool) -> str:
        if not self.changes:
            return f"nothing to change: no rule names {self.old}"
        words = {"paths": "path", "names": "name", "entries": "baseline entry", "imports": "import"}
        plurals = {"baseline entry": "baseline entries"}
        counts = ", ".join(
            f"{number} {word if number == 1 else plurals.get(word, word + 's')}"
            for key, word in words.items()
            if (number := self.counts.get(key, 0))
        )
        files = counted(len(self.changes), "file")
        done = "changed" if written else "would be changed"
        if written:
            end = ""
        else:
            end = ". Nothing was written: kl arch mv does"
        return f"{self.old} is now {self.new}: {counts} {done} in {files}{end}"

    def _next(self, written: bool) -> list[str]:
        if not written or not self.waiting:
            return []
        return [f"next: git mv {self.old} {self.new}"]

    def to_dict(self, *, written: bool) -> dict[str, Any]:
        """Return the result as `--format json` prints it."""
        return {
            "written": written and bool(self.changes),
            "old": self.old,
            "new": self.new,
            **{key: self.counts.get(key, 0) for key in ("paths", "names", "entries", "imports")},
            "files": [
                {"path": change.path, "diff": list(change.diff())} for change in self.changes
            ],
            "left": [
                {"path": path, "line": line, "reason": reason} for path, line, reason in self.left
            ],
            "unlayered": list(self.unlayered),
        }


def move_folder(
    ws: Workspace, old: str, new: str, *, write: bool, imports: bool = False
) -> FolderMove:
    """Give what is at `old` the path `new` in the manifest, the baseline and, with `imports`, in
    the source on disk. The files themselves may be moved before or afterwards.

    Both are paths from the repository's root; `new` may be the folder that a file is moved to, with
    a slash at its end. Raises ManifestProblems, BaselineProblems, UsageProblem, EnvironmentProblem;
    then nothing was written.
    """
    repo = require_repository(ws)
    paths = _Paths(old.rstrip("/"), _target(repo, old, new).rstrip("/"))
    _refuse(paths)
    content = load_content(ws, WORKTREE)
    if content.manifest is None:
        hint = "Create one with: kl init"
        raise UsageProblem("is not there, so no rule names it.", place=MANIFEST, hint=hint)
    manifest = read_manifest(MANIFEST, content.manifest)
    survey = survey_imports(ws, content, manifest)
    names = _module_names(survey, paths)
    text = _ManifestText(content.manifest, manifest, paths, names.pairs)
    rules = text.rewritten()
    if rules != content.manifest:
        changes = [FileChange(MANIFEST, content.manifest, rules)]
    else:
        changes = []
    counts = {"paths": text.paths, "names": text.names, "entries": 0, "imports": 0}
    if content.baseline is not None:
        entries = read_baseline(BASELINE, content.baseline)
        renamed = _renamed_entries(entries, names.pairs)
        if renamed != entries:
            counts["entries"] = len(set(entries) - set(renamed))
            changes.append(FileChange(BASELINE, content.baseline, baseline_bytes(renamed)))
    left: list[tuple[str, int, str]] = []
    if imports:
        left += _unwritten_imports(survey, paths)
        for change, number, places in _import_changes(survey, paths, names):
            left += places
            if change is not None:
                changes.append(change)
                counts["imports"] += number
    if not changes:
        _refuse_unknown(manifest, survey, paths)
    if write and changes:
        _write(repo, changes)
    waiting = any(paths.now(path) != path for path in survey.modules)
    after = read_manifest(MANIFEST, rules)
    unlayered = _unlayered(manifest, after, survey, paths)
    return FolderMove(
        paths.old, paths.new, tuple(changes), counts, tuple(left), unlayered, waiting, survey.notes
    )


def _target(repo: Repository, old: str, new: str) -> str:
    """The new path of what is moved: a file keeps its name in a folder, as with git-mv(1)."""
    name = old.rpartition("/")[2]
    into = f"{new.rstrip('/')}/{name}"
    is_file = (repo.top / old).is_file() or (repo.top / into).is_file()
    is_folder = new.endswith("/") or (repo.top / new).is_dir()
    return into if new and name and is_file and is_folder else new


def _refuse(paths: _Paths) -> None:
    """UsageProblem for two paths that can't be those of a move."""
    if not paths.old or not paths.new:
        raise UsageProblem("OLD and NEW must be in the repository.")
    if paths.old == paths.new:
        raise UsageProblem("OLD and NEW are the same.")


def _refuse_unknown(manifest: Manifest, survey: Survey, paths: _Paths) -> None:
    """UsageProblem where nothing, neither a rule nor a file, knows one of the two paths."""
    listed = [path.rstrip("/") for layer in manifest.layers for path in layer.paths]
    folders = {path.rpartition("/")[0] for path in survey.modules} | set(survey.modules)
    paths_here = {*listed, *folders}
    if any(f"{path}/".startswith((f"{paths.old}/", f"{paths.new}/")) for path in paths_here):
        return
    hint = (
        suggest_spelling(paths.old, paths_here)
        or "Give the path that the manifest has. See: kl arch show"
    )
    raise UsageProblem(
        f"no layer and no source file is at {paths.old} or {paths.new}.",
        hint=hint,
    )


def _refuse_ended(
    moved_modules: Sequence[str], new_names: Mapping[str, str], paths: _Paths
) -> None:
    """UsageProblem where a module would be none under its new path, such as `shop.txt`."""
    for path in moved_modules:
        if paths.now(path) not in new_names:
            raise UsageProblem(
                f"{path} is a module, and {paths.now(path)} would be none.",
                hint="Give NEW the ending that OLD has.",
            )


@dataclass(frozen=True, slots=True)
class _RenamedModules(ModuleNames):
    pairs: Mapping[str, str]
    """Dotted name before → after, of the moved modules."""


def _module_names(survey: Survey, paths: _Paths) -> _RenamedModules:
    """The modules under the old path, and their names under the new one."""
    files = [entry.path for entry in survey.content.entries]
    waiting = any(paths.now(path) != path for path in files)
    if waiting:
        before = files
    else:
        before = [paths.before(path) for path in files]
    after = [paths.now(path) for path in before]
    asked = imported_names(survey.facts.values())
    pairs: dict[str, str] = {}
    # imports decide about names (`code.modules`), and they may have the old names or the new ones:
    # the second turn knows both
    for _ in range(2):
        inverse = {new: old for old, new in pairs.items()}
        spellings = {spelling for name in asked for spelling in _spellings(name, pairs, inverse)}
        old_names = module_names(before, spellings)
        new_names = module_names(after, spellings)
        moved_modules = [path for path in old_names if paths.now(path) != path]
        _refuse_ended(moved_modules, new_names, paths)
        pairs = {
            plain_name(old_names[path]): plain_name(new_names[paths.now(path)])
            for path in moved_modules
        }
    inside = [name for name in pairs if pairs[name] != name]
    top = min(inside, key=lambda name: (name.count("."), name), default=paths.old)
    modules = {plain_name(name) for name in old_names.values()}
    # in other languages the path is the name
    moved = {path: paths.now(path) for path in before if is_file_module(path)}
    all_pairs = pairs | {old: new for old, new in moved.items() if old != new}
    return _RenamedModules(modules, lambda name: renamed_module(name, pairs), top, all_pairs)


def _spellings(name: str, *names: Mapping[str, str]) -> set[str]:
    return {name, *(renamed_module(name, pairs) for pairs in names)}


def _renamed_entries(
    entries: Sequence[BaselineEntry], names: Mapping[str, str]
) -> tuple[BaselineEntry, ...]:
    counts: dict[BaselineEntry, int] = {}
    for entry in entries:
        key = replace(
            entry,
            importer=renamed_module(entry.importer, names),
            imported=renamed_module(entry.imported, names),
            count=1,
        )
        counts[key] = counts.get(key, 0) + entry.count
    return tuple(sorted(replace(key, count=count) for key, count in counts.items()))


class _ManifestText:
    """The text of a manifest, and the edits that give it the new names."""

    def __init__(
        self, data: bytes, manifest: Manifest, paths: _Paths, names: Mapping[str, str]
    ) -> None:
        self._data = data
        self._paths = paths
        self._names = names
        self._layers = {layer.name for layer in manifest.layers}
        self.paths = self.names = 0
        """How many paths, and names of modules, were replaced."""

    def rewritten(self) -> bytes:
        """The text with the new names. UsageProblem where it would be no valid manifest."""
        import yaml

        text = self._data.decode("utf-8-sig")
        mark = self._data[: len(self._data) - len(self._data.removeprefix(b"\xef\xbb\xbf"))]
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        edits = []
        for key, value in _entries(root):
            for node, new in self._edits(key, value):
                edits.append((node.start_mark.index, node.end_mark.index, _spelled(node, new)))
        for start, end, word in sorted(edits, reverse=True):
            text = text[:start] + word + text[end:]
        rewritten = mark + text.encode()
        try:
            read_manifest(MANIFEST, rewritten)
        except ManifestProblems as problem:
            message = f"would be invalid with the new names: {problem}"
            raise UsageProblem(message, place=MANIFEST, hint="Edit it by hand.") from problem
        return rewritten

    def _edits(self, key: str, node: Any) -> Iterator[tuple[Any, str]]:
        """(scalar, its new text) in the value of a key of the manifest."""
        for item in _items(node):
            fields = dict(_entries(item))
            if key == "layers":
                for scalar in _scalars(fields.get("paths")):
                    yield from self._path(scalar)
                for scalar in _scalars(fields.get("namespaces")):
                    yield from self._name(scalar, renamed_in_text(scalar.value, self._names))
            elif key == "exceptions":
                for scalar in (*_scalars(fields.get("from")), *_scalars(fields.get("to"))):
                    if scalar.value not in self._layers:
                        new = self._names.get(scalar.value)
                        new = new or renamed_in_text(scalar.value, self._names)
                        yield from self._name(scalar, new)
            elif key == "contracts":
                containers = [scalar.value for scalar in _scalars(fields.get("containers"))]
                for option, value in fields.items():
                    for scalar in () if option in _NO_NAMES else _scalars(value):
                        if option == "layers":
                            inside = containers
                        else:
                            inside = []
                        yield from self._name(
                            scalar, renamed_in_text(scalar.value, self._names, inside)
                        )

    def _path(self, scalar: Any) -> Iterator[tuple[Any, str]]:
        spelled = scalar.value.strip()
        clean = "/".join(part for part in spelled.split("/") if part not in ("", "."))
        new = self._paths.now(clean)
        if new != clean:
            self.paths += 1
            yield scalar, new + ("/" if spelled.endswith("/") else "")

    def _name(self, scalar: Any, new: str) -> Iterator[tuple[Any, str]]:
        if new != scalar.value:
            self.names += 1
            yield scalar, new


def _entries(node: Any) -> list[tuple[str, Any]]:
    """Key → value of a mapping of YAML; none for anything else."""
    if type(node).__name__ == "MappingNode":
        pairs = node.value
    else:
        pairs = ()
    return [(snake_case(key.value), value) for key, value in pairs if isinstance(key.value, str)]


def _items(node: Any) -> list[Any]:
    if type(node).__name__ != "SequenceNode":
        return []
    return list(node.value)


def _scalars(node: Any) -> list[Any]:
    """The texts of a list, or the text itself."""
    nodes = _items(node) or [node]
    return [scalar for scalar in nodes if type(scalar).__name__ == "ScalarNode"]


def _spelled(node: Any, text: str) -> str:
    """A text in the quotes of the node that it replaces."""
    if node.style == "'" and "'" not in text and text.isprintable():
        return f"'{text}'"
    if node.style == '"' and text.isprintable() and not set(text) & {'"', "\\"}:
        return f'"{text}"'
    # such as `a.* -> b`: plain as it was, if the new names add nothing that needs quotes
    plain = not node.style and set(text) <= set(node.value) | set(_PLAIN_SIGNS)
    if plain:
        return text
    return yaml_quoted(text)


_PLAIN_SIGNS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./"


def _import_changes(
    survey: Survey, paths: _Paths, names: ModuleNames
) -> Iterator[tuple[FileChange | None, int, list[tuple[str, int, str]]]]:
    """The files whose imports change: the change, how many imports, and what is left."""
    word = names.moved.rpartition(".")[2].encode()
    files = survey.content.entries
    waiting = any(paths.now(entry.path) != entry.path for entry in files)
    texts = survey.read(sorted(survey.python_modules))
    inverse: dict[str, str] = {names.renamed(name): name for name in names.modules}
    for path, text in sorted(texts.items()):
        moved = paths.now(path) != path or paths.before(path) != path
        if word not in text and not moved:
            continue
        current = plain_name(survey.modules[path])
        if waiting:
            before = current
        else:
            before = inverse.get(current, current)
        package = path.endswith("/__init__.py")
        result = rewrite_moved_imports(
            text, before, names.renamed(before), names, is_package=package
        )
        left = [(path, line, reason) for line, reason in result.left]
        if result.content != text:
            yield FileChange(path, text, result.content), result.imports, left
        elif left:
            yield None, 0, left


def _unwritten_imports(survey: Survey, paths: _Paths) -> list[tuple[str, int, str]]:
    """The imports between what is moved and what is not, in other languages than Python."""

    def is_moved(path: str) -> bool:
        return paths.now(path) != path or paths.before(path) != path

    crossing = [
        link
        for link in survey.links
        if is_file_module(link.path) and is_moved(link.path) != is_moved(split_id(link.target)[1])
    ]
    reason = "imports of Python alone are rewritten"
    return sorted({(link.path, link.line, reason) for link in crossing})


def _unlayered(before: Manifest, after: Manifest, survey: Survey, paths: _Paths) -> tuple[str, ...]:
    """The new paths of moved files that lose their layer."""
    old_layer = layer_lookup(before.layers)
    new_layer = layer_lookup(after.layers)
    moves = {path: paths.now(path) for path in survey.modules if paths.now(path) != path}
    # the files were moved already
    moves = moves or {paths.before(path): path for path in survey.modules}
    pairs = ((old, new) for old, new in sorted(moves.items()) if old != new)
    return tuple(new for old, new in pairs if old_layer(old) and not new_layer(new))


def _write(repo: Any, changes: Sequence[FileChange]) -> None:
    """Write all files; each only if it is still what was read."""
    try:
        with folder_lock((repo.top / MANIFEST).parent):
            for change in changes:
                replace_files(repo.top, change.path, change.before, change.after, repo.git_dir)
    except Unfixable as problem:
        hint = "See: git diff. Then run this again."
        raise EnvironmentProblem(f"not written: {problem}.", place=change.path, hint=hint) from None
