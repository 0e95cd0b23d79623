"""What of a result may be shown: the policy, applied to values by their type, before any interface
has them.

A result is made of NamedTuples, dataclasses, tuples, mappings, numbers and texts. Of these a
symbol, a link, a record, a claim, a page, an excerpt and the ID of a node are what a policy can
hide. Where one is denied, so is what holds it, up to the nearest list, which is then shorter; a
file or a sentence that is a reason for doubt is `withheld`, for without it an answer would be
certain. Texts lose the words of what is hidden. A type that is not known here is an error: nothing
that was not decided on can be shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from enum import Enum
from typing import Any, Final

from kl_hooks.arch.autofix import FileChange
from kl_hooks.arch.layer_check import Verdict
from kl_hooks.code.query.search import Found
from kl_hooks.context.access import Access, Effect, redacted_title, refuse
from kl_hooks.model.claim import Claim
from kl_hooks.model.excerpt import Excerpt
from kl_hooks.model.manifest import Violation
from kl_hooks.model.package import WITHHELD
from kl_hooks.model.problem import Problem
from kl_hooks.model.receipt import Evidence, Receipt
from kl_hooks.model.record import Record, untitled_path
from kl_hooks.model.symbol import (
    RECORD_ID,
    FilePath,
    Link,
    NodeId,
    NodeText,
    Symbol,
    TestName,
    path_of,
)
from kl_hooks.operations.parts import Kinds, leaves, named_parts, replaced, with_parts
from kl_hooks.operations.written import Written
from kl_hooks.proof.expected_tests import Missing
from kl_hooks.proof.failed_tests import Failure
from kl_hooks.proof.impact import SymbolState
from kl_hooks.records.knowledge_check import CheckResult
from kl_hooks.records.pages import Page, PageLink

_DENIED: Final = object()
_FINDINGS: Final = ("violations", "accepted", "contracts", "warnings", "unassigned", "titles")
"""Parts of a verdict on layers, but for those that block without an import."""


def visible(access: Access, result: Any, asked: str) -> Any:
    """Return a result without what is denied; of what is redacted, its ID, kind and place are left.

    UsageProblem, which names what was asked for, where that is denied. TypeError for a type that is
    not known.
    """
    shown = _Decision(access, access.effects(_nodes(result))).value(result)
    if shown is not _DENIED:
        return shown
    return refuse(asked)


def _nodes(result: Any) -> Iterator[str]:
    """Yield the IDs of what a policy can hide."""
    for value in leaves(result, lambda part: isinstance(part, _DECIDED)):
        if isinstance(value, NodeId):
            yield value
        elif isinstance(value, NodeText):
            yield value.node
        elif isinstance(value, Symbol | Found):
            yield value.id
        elif isinstance(value, Link):
            yield from (value.source, value.target)
        elif isinstance(value, Problem):
            yield f"file:{value.path}"
        elif isinstance(value, CheckResult | Verdict):
            yield from _nodes(named_parts(value))
        elif isinstance(value, Page | PageLink):
            yield value.node
        elif isinstance(value, Excerpt):
            yield value.origin
        elif isinstance(value, Written):
            yield from _nodes(value.today)


class _Decision:
    """The decision on each part of one result."""

    def __init__(self, access: Access, effects: Mapping[str, Effect]) -> None:
        self._access, self._effects = access, effects
        self._files = dict[str, str]()
        """Path → the effect on the file, of which there are many results."""
        self._receipts = dict[str, Receipt]()
        """ID → what is shown of it: each of many tests has the same one."""

    def value(self, value: Any) -> Any:
        """Return what is left of a value, or `_DENIED`."""
        if value is None or isinstance(value, bool | int | float | Enum):
            return value
        for known_type, decide in _BY_TYPE.items():
            if isinstance(value, known_type):
                return decide(self, value)
        named = named_parts(value)
        if named is not None:
            return self._whole(value, named)
        if isinstance(value, tuple | list | frozenset):
            shown = (self.value(item) for item in value)
            return type(value)(item for item in shown if item is not _DENIED)
        raise TypeError(f"the policy can't decide on a {type(value).__name__}")

    def _whole(self, value: Any, parts: dict[Any, Any]) -> Any:
        paths = (part for part in parts.values() if isinstance(part, FilePath))
        effects = set(map(self._effect_on_file, paths))
        tests = (part for part in parts.values() if isinstance(part, TestName))
        effects |= {self._effect(f"test:{test}", test.path) for test in tests}
        if "deny" in effects:
            return _DENIED
        # the names of a mapping are texts, too
        shown = {self.value(name): self.value(part) for name, part in parts.items()}
        if any(part is _DENIED for pair in shown.items() for part in pair):
            return _DENIED
        if "redact" in effects:
            return replaced(value, _is_text_or_list, _emptied)
        if any(_is_redacted(part, shown.get(name)) for name, part in parts.items()):
            # what is stated of a record that is redacted is its text, too
            shown = {
                name: part if isinstance(part, Record | Written) else _without_texts(part)
                for name, part in shown.items()
            }
        if shown == parts:
            return value
        return with_parts(value, shown)

    def text(self, text: str) -> str:
        return self._access.text(text)

    def node(self, node: NodeId) -> Any:
        is_denied = self._effect(node) == "deny" or self._access.denies_name(node)
        if is_denied:
            return _DENIED
        return node

    def sentence(self, sentence: NodeText) -> str:
        """What is hidden may still be a reason for which nothing is certain."""
        withheld = ("deny", "redact") if sentence.is_quotation else ("deny",)
        if self._effect(sentence.node) in withheld:
            return WITHHELD
        return sentence

    def test(self, test: TestName) -> Any:
        effect = self._effect(f"test:{test}", test.path)
        if effect == "deny":
            return _DENIED
        return test

    def path(self, path: FilePath) -> str:
        if self._effect_on_file(path) != "deny":
            return path
        return WITHHELD

    def symbol(self, symbol: Symbol) -> Any:
        effect, rule = self._decided(symbol.id, symbol.path)
        if effect == "redact":
            place = _place(symbol.path, symbol.id)
            signature = redacted_title(rule)
            return Symbol(symbol.id, place, symbol.line, symbol.end_line, signature, "", "")
        if effect == "allow":
            return symbol
        return _DENIED

    def link(self, link: Link) -> Any:
        effects = {self._effect(end) for end in (link.source, link.target)}
        effects.add(self._effect_on_file(link.path))
        if "deny" in effects:
            return _DENIED
        if "redact" in effects:
            return link._replace(path=_place(link.path, link.source))
        # the target of an unresolved use is a name that somebody wrote
        return link._replace(target=self.text(link.target))

    def found(self, found: Found) -> Any:
        if found.kind in ("page", "violation"):
            kind = found.kind
        else:
            kind = "symbol"
        effect, rule = self._decided(found.id, found.path, kind)
        if effect == "redact":
            place = _place(found.path, found.id)
            return found._replace(path=place, signature=redacted_title(rule))
        if effect != "allow":
            return _DENIED
        return found._replace(signature=self.text(found.signature))

    def problem(self, problem: Problem) -> Any:
        effect = self._effect(f"file:{problem.path}")
        if effect == "redact":
            return problem._replace(message="", hint="")
        if effect == "allow":
            return problem
        return _DENIED

    def page(self, page: Page) -> Any:
        effect, rule = self._decided(page.node, page.path, "page")
        if effect == "redact":
            return page._replace(path=_place(page.path, page.node), title=redacted_title(rule))
        if effect == "allow":
            return page
        return _DENIED

    def page_link(self, link: PageLink) -> Any:
        effect, rule = self._decided(link.node)
        if effect == "deny":
            return _DENIED
        if effect == "redact":
            title = redacted_title(rule)
        else:
            title = link.title
        # what is written may be the title of what it leads to
        several = tuple(self.path(FilePath(path)) for path in link.several)
        return link._replace(target=self.text(link.target), title=title, several=several)

    def excerpt(self, excerpt: Excerpt) -> Any:
        """Of what is redacted nothing that is a text is left; an origin that is unknown is
        hidden.
        """
        effect = self._effects.get(excerpt.origin)
        if effect is None or effect[0] != "allow":
            return _DENIED
        return self._whole(excerpt, named_parts(excerpt) or {})

    def receipt(self, receipt: Receipt) -> Receipt:
        """A receipt without the results that are denied. What names it is its ID as it is
        stored.
        """
        if receipt.id not in self._receipts:
            names = ("environment", "selection", "result")
            parts = {name: self.value(getattr(receipt, name)) for name in names}
            evidence = self.value(receipt.evidence)
            if evidence != receipt.evidence:
                # its digest is that of the whole, as where upkeep has deleted the results
                parts |= {"evidence": evidence, "folded_digest": receipt.evidence_digest}
            self._receipts[receipt.id] = receipt._replace(**parts)
        return self._receipts[receipt.id]

    def evidence(self, evidence: Evidence) -> Any:
        """A result, by the test or the file that it is of, and the file that it was raised in."""
        detail = evidence.detail
        raised_in = detail.get("frame") or detail.get("path")
        effects = {self._effect_on_file(path_of(evidence.subject))}
        if "deny" in effects:
            return _DENIED
        if raised_in:
            effects.add(self._effect_on_file(str(raised_in).partition("::")[0]))
        if effects != {"allow"}:
            return evidence._replace(detail={})
        subject = self.text(evidence.subject)
        return evidence._replace(subject=subject, detail=self.value(detail))

    def _effect_on_file(self, path: str) -> str:
        if path not in self._files:
            self._files[path] = self._effect("", path)
        return self._files[path]

    def missing(self, missing: Missing) -> Missing:
        """A reason for which something is not proven stays one, without its name."""
        if self._effect_on_file(TestName(missing.name).path) == "deny":
            return missing._replace(name=WITHHELD)
        return missing._replace(reason=self.text(missing.reason))

    def failure(self, failure: Failure) -> Failure:
        effect = self._effect_on_file(TestName(failure.test).path)
        if effect == "deny":
            return failure._replace(test=WITHHELD, at="")
        return failure._replace(at=self.text(failure.at) if effect == "allow" else "")

    def symbol_state(self, state: SymbolState) -> SymbolState:
        effect = self._effect_on_file(state.path)
        if effect == "deny":
            kind = state.symbol.partition(":")[0]
            symbol = f"{kind}:{WITHHELD}"
            return SymbolState(symbol, WITHHELD, 0, state.state, WITHHELD)
        if effect == "allow":
            reason = self.text(state.reason)
        else:
            reason = ""
        return state._replace(reason=reason, tests=self.value(tuple(map(TestName, state.tests))))

    def verdict(self, verdict: Verdict) -> Verdict:
        """A check of the layers. What blocks stays a finding, without its name; the rules are a
        file of their own.
        """
        parts: dict[str, Any] = {name: self.value(getattr(verdict, name)) for name in _FINDINGS}
        for name in ("problems", "emptied", "loosened"):
            parts[name] = tuple(map(self._doubt, getattr(verdict, name)))
        return verdict._replace(**parts, stopping=frozenset(map(self.text, verdict.stopping)))

    def _doubt(self, problem: Problem) -> Problem:
        shown = self.problem(problem)
        if shown is _DENIED:
            return Problem(WITHHELD, 0, 0, WITHHELD)
        return problem._replace(message=self.text(shown.message), hint=self.text(shown.hint))

    def violation(self, violation: Violation) -> Violation:
        effect = self._effect_on_file(violation.path)
        imported = self.text(violation.imported)
        if effect == "deny":
            names: dict[str, Any] = {"path": WITHHELD, "importer": WITHHELD, "imported": imported}
            return violation._replace(**names, line=0, statement=WITHHELD, suggested_fix="", via=())
        if effect == "redact" or imported != violation.imported:
            if effect == "redact":
                statement = ""
            else:
                statement = WITHHELD
            return violation._replace(
                imported=imported, statement=statement, suggested_fix="", via=()
            )
        via = tuple(map(self.text, violation.via))
        return violation._replace(suggested_fix=self.text(violation.suggested_fix), via=via)

    def knowledge_check(self, check: CheckResult) -> CheckResult:
        """A check of authored files. What is wrong in a hidden one stays wrong, without its name; a
        denied one is not counted.
        """
        findings, unread = ([*map(self._doubt, part)] for part in (check.findings, check.unread))
        remarks = self.value(check.remarks)
        files = self.value(check.files)
        return replace(check, findings=findings, unread=unread, remarks=remarks, files=files)

    def file_change(self, change: FileChange) -> Any:
        """The difference is text of the file."""
        if self._effect_on_file(change.path) == "allow":
            return change
        return _DENIED

    def record(self, record: Record) -> Any:
        return next(iter(self._access.records([record])), _DENIED)

    def kinds(self, kinds: Kinds) -> Any:
        return kinds

    def written(self, change: Written) -> Any:
        record = self._access.written(change.record)
        if record is not change.record:  # what is stated of it is its text, too
            return Written(record, change.now)
        return change._replace(today=self.value(change.today), notes=self.value(change.notes))

    def claim(self, claim: Claim) -> Any:
        if self._access.shows_claim(claim):
            return claim
        return _DENIED

    def _effect(self, node: str, path: str = "") -> str:
        return self._decided(node, path)[0]

    def _decided(self, node: str, path: str = "", kind: str = "symbol") -> Effect:
        """Return the effect on a node and the rule, by its ID where it is stored, else by its
        place.
        """
        if node in self._effects:
            return self._effects[node]
        path = path or path_of(node)
        if not path:
            return ("allow", "")
        return self._access.effect_on_place(node, path, kind)


def _is_redacted(part: Any, shown: Any) -> bool:
    """Return whether a part is a record of which not everything is shown."""
    if isinstance(part, Written):
        return part.record is not shown.record
    return isinstance(part, Record) and part is not shown


def _without_texts(part: Any) -> Any:
    return replaced(part, _is_text_or_list, _emptied)


def _is_text_or_list(part: Any) -> bool:
    if isinstance(part, Enum):  # a word of ours, whatever it is stated of
        return False
    return isinstance(part, str | Mapping) or (
        isinstance(part, tuple | list | frozenset) and named_parts(part) is None
    )


def _emptied(part: Any) -> Any:
    if isinstance(part, FilePath | TestName | NodeId):
        return part
    if isinstance(part, str):
        return ""
    return type(part)()


def _place(path: str, node: str) -> str:
    """A path without the title of a record, after which its file is named."""
    name = node.rpartition(":")[2]
    if not RECORD_ID.fullmatch(name):
        return path
    return untitled_path(path, name)


_BY_TYPE: Final[dict[type, Callable[[_Decision, Any], Any]]] = {
    NodeId: _Decision.node,
    NodeText: _Decision.sentence,
    FilePath: _Decision.path,
    TestName: _Decision.test,
    str: _Decision.text,
    Symbol: _Decision.symbol,
    Link: _Decision.link,
    Found: _Decision.found,
    Problem: _Decision.problem,
    Page: _Decision.page,
    PageLink: _Decision.page_link,
    Excerpt: _Decision.excerpt,
    Record: _Decision.record,
    Written: _Decision.written,
    Claim: _Decision.claim,
    Kinds: _Decision.kinds,
    Receipt: _Decision.receipt,
    Evidence: _Decision.evidence,
    Missing: _Decision.missing,
    Failure: _Decision.failure,
    SymbolState: _Decision.symbol_state,
    Verdict: _Decision.verdict,
    Violation: _Decision.violation,
    FileChange: _Decision.file_change,
    CheckResult: _Decision.knowledge_check,
}
_DECIDED: Final = tuple(_BY_TYPE)
