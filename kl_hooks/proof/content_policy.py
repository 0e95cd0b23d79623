"""What the settings and the configuration of a content make of its tests, against the commit before
it or a trusted one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from kl_hooks.clock import iso
from kl_hooks.config.settings import SETTINGS_FILE, KnownFailure, VerifyPolicy, verify_policy
from kl_hooks.git.repository import Repository, fork_point
from kl_hooks.git.worktree import tree_of_revision
from kl_hooks.model.problem import Problems
from kl_hooks.proof.content_source import ContentSource, content_source
from kl_hooks.proof.expected_tests import Expected, expected_tests
from kl_hooks.workspace import Workspace


def expected_of_content(
    ws: Workspace,
    repo: Repository,
    trees: Sequence[str],
    tree: str,
    *,
    rev: str = "",
    base: str = "",
    trust_ref: str = "",
) -> Expected:
    """The tests of the content, and how `verify` in its settings differs from the commit before it.

    `trees`: its IDs; `tree`: where its files are, empty for the disk. `rev`, `base`, `trust_ref`:
    as `proof.gate.judge` takes them.
    """
    before = trust_ref or base or _parent_revision(repo, rev, trees)
    source = content_source(repo, tree)
    older = content_source(repo, before) if before else None
    cache = ws.state.cache
    policy = verify_policy(SETTINGS_FILE, source.text(SETTINGS_FILE), cache)
    notes: list[str] = []
    policy_before = policy
    try:
        if older:
            policy_before = _policy_before(older, before, cache)
        else:
            policy_before = policy
    except Problems as problem:
        # settings that somebody asked to trust, and that can't be read, must not be replaced by the
        # content's own
        if trust_ref:
            raise
        # a commit that repairs the settings must be provable
        notes.append(
            f"verify.exclude of {_label(before)} can't be read and was not compared:"
            f" {problem.problems[0]}"
        )
    exclude = (policy_before if trust_ref else policy).exclude
    expected = expected_tests(ws, source, older, _label(before), exclude)
    notes += _exclude_notes(policy.exclude, policy_before.exclude, before, trust_ref)
    today = iso(ws.clock.now())[:10]
    notes += _known_failure_notes(policy, policy_before, before, trust_ref, today)
    return expected._replace(
        notes=(*notes, *expected.notes),
        known_failures=_counting_failures(policy, policy_before, trust_ref, today),
        exclude=tuple(exclude),
    )


def _parent_revision(repo: Repository, rev: str, trees: Sequence[str]) -> str:
    """The commit before the content: where its branch parted from the remote's default branch; else
    of a commit its first parent, of edited files HEAD. Empty for none.
    """
    base = fork_point(repo, rev or "HEAD")
    if base and tree_of_revision(repo, base) != trees[0]:
        return base
    if not rev and tree_of_revision(repo, "HEAD") != trees[0]:
        if tree_of_revision(repo, "HEAD"):
            return "HEAD"
        return ""
    before = f"{rev or 'HEAD'}^"
    if tree_of_revision(repo, before):
        return before
    return ""


def _policy_before(older: ContentSource, before: str, cache: Path) -> VerifyPolicy:
    return verify_policy(f"{before}:{SETTINGS_FILE}", older.text(SETTINGS_FILE), cache)


def _label(rev: str) -> str:
    if len(rev) >= 40:
        return rev[:12]
    return rev


def _exclude_notes(
    exclude: Sequence[str], before: Sequence[str], label: str, trust_ref: str
) -> list[str]:
    added = [glob for glob in exclude if glob not in before]
    removed = [glob for glob in before if glob not in exclude]
    changes = [f"added {', '.join(added)}"] if added else []
    if removed:
        changes += [f"removed {', '.join(removed)}"]
    if not changes:
        return []
    if trust_ref:
        counts = f"; that of {trust_ref} counts"
    else:
        counts = ""
    return [
        f"verify.exclude in {SETTINGS_FILE} changed since {_label(label)}:"
        f" {'; '.join(changes)}{counts}"
    ]


def _counting_failures(
    policy: VerifyPolicy, before: VerifyPolicy, trust_ref: str, today: str
) -> tuple[KnownFailure, ...]:
    """The known failures of a content that have not ended; with a trusted commit those that it has
    as well, with the earlier end: a change can't add one for itself.
    """
    failures = policy.known_failures
    if trust_ref:
        ends = {failure.test: failure.until for failure in before.known_failures}
        failures = tuple(
            failure._replace(until=min(failure.until, ends[failure.test]))
            for failure in failures
            if failure.test in ends
        )
    return tuple(failure for failure in failures if failure.until >= today)


def _known_failure_notes(
    policy: VerifyPolicy, before: VerifyPolicy, label: str, trust_ref: str, today: str
) -> Iterator[str]:
    earlier = {failure.test for failure in before.known_failures}
    for failure in policy.known_failures:
        if failure.until < today:
            yield (
                f"known failure {failure.test} ended on {failure.until}: fix the test, or renew the"
                f" entry in {SETTINGS_FILE}"
            )
        elif trust_ref and failure.test not in earlier:
            yield f"known failure {failure.test} is not in {_label(trust_ref)}: it does not count"
        elif failure.test not in earlier:
            yield f"known failure {failure.test} was added since {_label(label)}"
