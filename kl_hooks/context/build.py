"""Build: the one verb of this room. A workspace, a task and a budget in; a package out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kl_hooks.context.assemble import assemble
from kl_hooks.context.gather import gather, retrievers_of
from kl_hooks.context.signals import read_signals
from kl_hooks.errors import UsageProblem
from kl_hooks.model.package import Budget, Package
from kl_hooks.model.task import Signals, Task

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace


def build(ws: Workspace, task_text: str, budget: Budget, *, style: str = "text") -> Package:
    """The package for a task: what is known, ranked, cited, and never larger than its budget when rendered.

    The same task, budget, style and knowledge give the same package, its id included. Retrievers that fail are named in
    `coverage`; a task without words
    gets what holds for every task. Raises UsageProblem for a task without text, EnvironmentProblem where kl
    has not been set up: nothing is created by asking.
    """
    from kl_hooks.evidence.home import require_home
    from kl_hooks.git.trees import tree_of
    from kl_hooks.store.redact import redact

    if not task_text.strip():
        raise UsageProblem("the task is empty.", place="kl context", hint='Say what you will do: kl context "…"')
    require_home(ws)
    task = Task(task_text, read_signals(task_text))
    retrievers, failed = retrievers_of(ws.plugins)
    if task.signals == Signals():  # nothing to search by: only what holds whatever the words are
        retrievers, failed = [one for one in retrievers if one.name == "standing"], {}
    found = gather(retrievers, ws, task, redact)
    found = replace(found, coverage=dict(sorted({**found.coverage, **failed}.items())))
    tree = (tree_of(ws.repo, "HEAD") or "") if ws.repo else ""
    return assemble(task, found, budget, style, tree)
