"""The layer check: which imports a manifest forbids. Pure: the same manifest, links and day give
the same verdict.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.arch.import_survey import Survey
from kl_hooks.arch.layers import TYPE_CHECKING_METHOD, Edge, edges, layer_lookup, places_between
from kl_hooks.code.languages import names_of_language
from kl_hooks.code.modules import plain_name
from kl_hooks.graph.algorithms import components
from kl_hooks.model.definitions import EMPTY, NamedTuple
from kl_hooks.model.manifest import BASELINE, MANIFEST, Allowance, Layer, Manifest, Violation
from kl_hooks.model.problem import Problem
from kl_hooks.model.symbol import Link, split_id

if TYPE_CHECKING:
    from kl_hooks.model.contract import Breach


class ContractResult(NamedTuple):
    """The result of the contracts for one content."""

    breaches: tuple[Breach, ...] = ()
    problems: tuple[Problem, ...] = ()
    """Files that keep contracts from being judged."""
    warnings: tuple[Problem, ...] = ()
    files: int = 0
    """Files of the packages that were looked at."""


class Verdict(NamedTuple):
    """The answer of one check."""

    manifest: Manifest
    violations: tuple[Violation, ...]
    """What blocks: with a baseline, only what it does not accept."""
    problems: tuple[Problem, ...]
    """What keeps a governed file from being judged: it does not parse, or belongs to no layer
    (`exhaustive`).
    """
    warnings: tuple[Problem, ...]
    files: int
    """Files that were judged."""
    source: str
    """`worktree`, `staged`, or the revision that was looked at."""
    unjudged: int = 0
    """Files of layers that could not be read."""
    accepted: tuple[Violation, ...] = ()
    """What the baseline accepts."""
    baseline: str = ""
    """Path of the baseline that was applied; empty where there was none."""
    titles: Mapping[str, str] = EMPTY
    """Record id → title, of the decisions behind the rules that were broken, where those records
    are known.
    """
    contracts: tuple[Breach, ...] = ()
    """How contracts of import-linter are broken."""
    unassigned: tuple[str, ...] = ()
    """The Python files that belong to no layer, by path; empty where the manifest has no layers."""
    loosened: tuple[Problem, ...] = ()
    """How the judged commits allow more than the rules before them: each with its place in the new
    rules.
    """
    trusted: str = ""
    """The revision whose rules are trusted: loosened rules block then."""
    invalid: bool = False
    """True where the rules themselves can't be used: `problems` has the reasons, and nothing was
    judged.
    """
    emptied: tuple[Problem, ...] = ()
    """Paths of layers that matched files before and match none now: folders that were moved or
    removed.
    """
    stopping: frozenset[str] = frozenset()
    """The files (of `problems`) that keep contracts from being judged at all."""

    @property
    def clean(self) -> bool:
        """True where nothing blocks."""
        findings = (self.violations, self.problems, self.contracts, self.emptied)
        return not any(findings) and not (self.trusted and self.loosened)

    def with_violations(self, added: Iterable[Violation]) -> Verdict:
        """The verdict with these violations too."""
        return self._replace(violations=tuple(_numbered([*self.violations, *added])))

    def with_contracts(self, judged: ContractResult) -> Verdict:
        """Return the verdict with the result of the contracts."""
        paths_with_problems = {problem.path for problem in self.problems}
        stopping = {
            problem.path: problem
            for problem in judged.problems
            if problem.path not in paths_with_problems
        }
        better = {
            one.path: one for one in self.warnings if one.path in stopping
        }  # our own reason and place
        return self._replace(
            contracts=judged.breaches,
            stopping=frozenset(problem.path for problem in judged.problems),
            problems=(*self.problems, *(better.get(path, one) for path, one in stopping.items())),
            warnings=(*(one for one in self.warnings if one.path not in better), *judged.warnings),
            # mostly the same files: a sum would count them twice
            files=max(self.files, judged.files),
        )

    def in_files(self, paths: Collection[str]) -> tuple[Verdict, int]:
        """Return the verdict on these files, and how many findings in others it omits.

        A contract's chain stays where one of its steps is in one of the files; so does what stops
        contracts from being judged. Nothing is omitted where the manifest or the baseline is among
        the files: a changed rule forbids everywhere.
        """
        if not {MANIFEST, BASELINE}.isdisjoint(paths):
            return self, 0
        narrowed = self._narrowed(lambda path: path in paths)
        return narrowed, self._blocking() - narrowed._blocking()

    def in_folder(self, folder: str) -> Verdict:
        """Return the verdict on a folder (from the repository's root, `/` at its end; empty:
        everything).
        """

        def inside(path: str) -> bool:
            return path.startswith(folder) or path in (MANIFEST, BASELINE)

        return self._narrowed(inside)._replace(
            unassigned=tuple(path for path in self.unassigned if inside(path)),
        )

    def _narrowed(self, inside: Callable[[str], bool]) -> Verdict:
        return self._replace(
            violations=tuple(one for one in self.violations if inside(one.path)),
            accepted=tuple(one for one in self.accepted if inside(one.path)),
            contracts=tuple(
                one
                for one in self.contracts
                if not one.chain or any(inside(step.path) for step in (*one.chain, *one.also))
            ),
            problems=tuple(
                one for one in self.problems if inside(one.path) or one.path in self.stopping
            ),
        )

    def _blocking(self) -> int:
        # without `emptied`: no narrower verdict omits one
        return len(self.violations) + len(self.contracts) + len(self.problems)


INDIRECT_METHOD: Final = "indirect import"
"""The `method` of such a violation."""
_ImportedFile = tuple[str, Link]
"""(file that is imported, the import)"""


def forbidden_chains(
    manifest: Manifest, links: Iterable[Link], modules: Mapping[str, str]
) -> list[Violation]:
    """The shortest chain for every pair of layers whose first may not depend on the second but
    reaches it.

    `modules`: path → dotted name of every source file. A chain has two imports or more, and none of
    them is forbidden itself: those are violations of their own, or excepted, and then no chain goes
    through them. Modules of no layer may be in it. Of chains that are equally short the first by
    the order of files is reported.
    """
    links = tuple(links)
    steps = _steps(manifest, links, modules)
    layer_of = layer_lookup(manifest.layers)
    layers = {path: layer for path in modules if (layer := layer_of(path)) is not None}
    chain_violations = []
    for source in manifest.layers:
        starts = sorted(path for path, layer in layers.items() if layer.name == source.name)
        for target, chain in _reached(starts, steps, layers, source).items():
            chain_violations.append(_chain_violation(manifest, source, target, chain, modules))
    return sorted(
        chain_violations,
        key=lambda violation: (violation.path, violation.line, violation.target_layer),
    )


def _steps(
    manifest: Manifest, links: Sequence[Link], modules: Mapping[str, str]
) -> dict[str, list[_ImportedFile]]:
    """File → the files that it imports, without the imports that are forbidden; the first line of
    each.
    """
    forbidden = {edge.link for edge in edges(manifest, links, modules) if not edge.allowed}
    files = {dotted: path for path, dotted in modules.items()}
    first: dict[tuple[str, str], Link] = {}
    for link in sorted(links, key=lambda link: (link.path, link.line, link.target)):
        ignored = link.method == TYPE_CHECKING_METHOD and manifest.type_checking_imports == "ignore"
        if link.relation == "imports":
            file = files.get(split_id(link.target)[1])
        else:
            file = None
        if file and file != link.path and not ignored and link not in forbidden:
            first.setdefault((link.path, file), link)
    steps: dict[str, list[_ImportedFile]] = {}
    for (path, file), link in sorted(first.items(), key=lambda item: item[0]):
        steps.setdefault(path, []).append((file, link))
    return steps


def _reached(
    starts: Sequence[str],
    steps: Mapping[str, list[_ImportedFile]],
    layers: Mapping[str, Layer],
    source: Layer,
) -> dict[str, list[Link]]:
    """Forbidden layer → the shortest chain from any of the files to it, by breadth first."""
    reached_by: dict[str, Link | None] = dict.fromkeys(starts)
    # breadth first: the chain that finds a layer first is a shortest one
    waiting = deque(starts)
    chain_to_layer: dict[str, list[Link]] = {}
    while waiting:
        path = waiting.popleft()
        for file, link in steps.get(path, ()):
            if file in reached_by:
                continue
            reached_by[file] = link
            waiting.append(file)
            layer = layers.get(file)
            if layer and layer.name not in (source.name, *source.may_depend_on, *chain_to_layer):
                chain_to_layer[layer.name] = _back(link, reached_by)
    return chain_to_layer


def _back(link: Link, reached_by: Mapping[str, Link | None]) -> list[Link]:
    chain = [link]
    while (before := reached_by[chain[-1].path]) is not None:
        chain.append(before)
    return chain[::-1]


def _chain_violation(
    manifest: Manifest,
    source: Layer,
    target: str,
    chain: Sequence[Link],
    modules: Mapping[str, str],
) -> Violation:
    names = [
        plain_name(modules[chain[0].path]),
        *(plain_name(split_id(link.target)[1]) for link in chain),
    ]
    steps = [f"{name} ({link.path}:{link.line})" for name, link in zip(names, chain, strict=False)]
    return Violation(
        path=chain[0].path,
        line=chain[0].line,
        importer=names[0],
        imported=names[-1],
        source_layer=source.name,
        target_layer=target,
        statement=" -> ".join(names),
        method=INDIRECT_METHOD,
        rule=f"{manifest.path}:{source.line}",
        decision=source.decision,
        suggested_fix=f"remove one import of this chain: {' -> '.join([*steps, names[-1]])}",
        allowed=source.may_depend_on,
        via=tuple(f"{link.path}:{link.line}" for link in chain[1:]),
    )


def violations(
    manifest: Manifest,
    links: Iterable[Link],
    modules: Mapping[str, str],
    survey: Survey | None = None,
    today: str = "",
    places_to_read: Collection[tuple[str, int]] | None = None,
    all_links: Callable[[], Iterable[Link]] | None = None,
) -> list[Violation]:
    """The imports that the manifest forbids, in the order of file and line.

    `modules`: path → dotted name of every source file. `today`: `YYYY-MM-DD`, to know expired
    exceptions (empty: none is). An exception applies through its last day; an import under an
    expired one is a violation, and its suggestion names it. `places_to_read`: (path, line) of
    the imports whose files are read for a better suggestion; None: of all. `all_links`: gives all
    links between layers (every link, where indirect imports count) if `links` has only those that
    may be forbidden; suggestions are looked for in all of them.
    """
    links = tuple(links)
    forbidden = [edge for edge in edges(manifest, links, modules) if not edge.allowed]
    found_violations = []
    if forbidden:  # a clean check imports nothing that only suggestions need
        from kl_hooks.arch.suggestions import Suggestions

        suggestions = Suggestions(
            manifest,
            survey.index if survey else None,
            lambda: all_links() if all_links else links,
            modules,
        )
    for edge in forbidden:
        matching = [exception for exception in manifest.exceptions if is_excepted(exception, edge)]
        if any(not is_expired(exception, today) for exception in matching):
            continue
        if places_to_read is None or (edge.link.path, edge.link.line) in places_to_read:
            survey_for_edge = survey
        else:
            survey_for_edge = None
        if matching:
            suggestion = _expired_suggestion(manifest, matching[0])
        else:
            suggestion = suggestions.out(edge, survey_for_edge)
        found_violations.append(
            _violation(manifest, edge, survey.statement(edge.link) if survey else "", suggestion)
        )
    if manifest.indirect == "forbid":
        found_violations = sorted(
            [
                *found_violations,
                *forbidden_chains(manifest, all_links() if all_links else links, modules),
            ],
            key=lambda violation: (violation.path, violation.line),
        )
    return _numbered(found_violations)


def _numbered(unnumbered: Iterable[Violation]) -> list[Violation]:
    """Number the violations that share a fingerprint, in the order given."""
    counts: Counter[str] = Counter()
    numbered = []
    for violation in unnumbered:
        counts[violation.fingerprint] += 1
        numbered.append(violation._replace(number=counts[violation.fingerprint]))
    return numbered


def is_excepted(allowance: Allowance, edge: Edge) -> bool:
    """True where an exception names this import, by its exact modules or by their layers."""
    return allowance.source in (edge.importer, edge.source.name) and allowance.target in (
        edge.imported,
        edge.target.name,
    )


def is_expired(allowance: Allowance, today: str) -> bool:
    """True after the last day of an exception."""
    return bool(allowance.until and today) and allowance.until < today


def _expired_suggestion(manifest: Manifest, allowance: Allowance) -> str:
    place = f"{manifest.path}:{allowance.line}"
    return f"the exception at {place} ended on {allowance.until}; fix the import, or renew it"


def _violation(manifest: Manifest, edge: Edge, statement: str, suggestion: str) -> Violation:
    return Violation(
        path=edge.link.path,
        line=edge.link.line,
        importer=edge.importer,
        imported=edge.imported,
        source_layer=edge.source.name,
        target_layer=edge.target.name,
        statement=statement or f"import {edge.imported}",
        method=edge.link.method,
        rule=f"{manifest.path}:{edge.source.line}",
        decision=edge.source.decision,
        suggested_fix=suggestion,
        allowed=edge.source.may_depend_on,
        via=places_between(edge.link.method),
    )


def unassigned_problems(manifest: Manifest, modules: Mapping[str, str]) -> list[Problem]:
    """For `exhaustive`: the files that belong to no layer."""
    layer_of = layer_lookup(manifest.layers)
    hint = f'Add its folder to a layer in {manifest.path}, or set "exhaustive" to false.'
    return [
        Problem(path, 1, 1, "belongs to no layer, and the manifest is exhaustive.", hint)
        for path in sorted(modules)
        if layer_of(path) is None
    ]


def manifest_warnings(
    manifest: Manifest, links: Iterable[Link], modules: Mapping[str, str], today: str = ""
) -> list[Problem]:
    """What in the manifest has no effect: a language that is not checked, layers in a cycle,
    exceptions that no import needs.
    """
    problems = []
    if manifest.language and not names_of_language(manifest.language):
        message = (
            f'language "{manifest.language}" is not supported: files of all languages that kl reads'
            " are checked."
        )
        hint = "Remove it, or write Python, TypeScript or Rust."
        problems.append(Problem(manifest.path, manifest.language_line, 1, message, hint))
    problems += cycle_warnings(manifest)
    crossing = [edge for edge in edges(manifest, links, modules) if not edge.allowed]
    for exception in manifest.exceptions:
        if not any(is_excepted(exception, edge) for edge in crossing):
            ends = f"from {exception.source} to {exception.target}"
            message = f"the exception {ends} matches no import."
            problems.append(Problem(manifest.path, exception.line, 1, message, "Take it out."))
    return problems


def cycle_warnings(manifest: Manifest) -> list[Problem]:
    """Layers that may depend on each other: allowed, and worth a word, because then there is no
    order to keep.
    """
    layers = {layer.name: layer for layer in manifest.layers}
    warnings = []
    for members in components(
        list(layers), {name: layer.may_depend_on for name, layer in layers.items()}
    ):
        if len(members) > 1:
            names = sorted(members, key=list(layers).index)
            message = f"layers {', '.join(names[:-1])} and {names[-1]} may depend on each other."
            line = layers[names[0]].line
            warnings.append(
                Problem(
                    manifest.path,
                    line,
                    1,
                    message,
                    "Take one direction out, or make them one layer.",
                )
            )
    return warnings


def judge(
    manifest: Manifest,
    survey: Survey,
    today: str,
    source: str,
    closely: Collection[tuple[str, int]] | None = None,
) -> Verdict:
    """Check the surveyed imports against a manifest. `closely`: as for `violations`."""
    layer_of = layer_lookup(manifest.layers)
    layers = {path: layer_of(path) for path in survey.modules}
    governed = {path for path, layer in layers.items() if layer is not None}
    unread = [problem for problem in survey.unread if problem.path in governed]
    # A file in no layer blocks nothing, even where it does not parse. A minified one is no mistake
    # to warn of, unless a chain of imports may lead through it.
    if manifest.indirect == "ignore":
        silent = governed | survey.minified
    else:
        silent = governed
    others = [problem for problem in survey.unread if problem.path not in silent]
    if manifest.exhaustive:
        outside = unassigned_problems(manifest, survey.modules)
    else:
        outside = []
    links = survey.forbidden(manifest, layers)

    def whole() -> Iterable[Link]:
        if manifest.indirect == "ignore":
            return survey.crossing(manifest, layers)
        return survey.links

    return Verdict(
        manifest=manifest,
        violations=tuple(
            violations(manifest, links, survey.modules, survey, today, closely, whole)
        ),
        problems=(*unread, *outside),
        warnings=(
            *manifest_warnings(manifest, links, survey.modules),
            *others,
            *survey.partly_read,
            *survey.nowhere(governed),
        ),
        files=len(governed) - len(unread),
        source=source,
        unjudged=len(unread),
        unassigned=tuple(sorted(survey.modules.keys() - governed)) if manifest.layers else (),
    )
