"""What a check of the layers costs after one file was changed, against `import click` and against
peers.

python -m bench.drift_cost [--repository django|large] [--rounds 5]

First the verdicts are compared: with rules that forbid everything, kl and import-linter must call
the same imports broken; with rules that fit, none; and after a new import, that one. Exit 1 if they
differ. Both are asked for direct imports only (`unassigned_imports: ignore`,
`allow_indirect_imports`): by default kl also follows imports through files in no layer, for which
import-linter has no equal short of all chains. What the default calls broken beyond that is
counted; that it calls the same direct imports broken is checked. Then the times, of the default.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench import peers
from bench.drift_rules import (
    Allowed,
    Edges,
    allowed,
    broken_for_importlinter,
    broken_for_kl,
    difference,
    importlinter,
    layer_of,
    layers,
    manifest,
    tach,
)
from bench.measure import Cost, Side, cost, median_costs
from bench.repositories import NAMES, NotHere, Repository, python_files, repository
from bench.table import Row, against, missing, show

CHANGED = "django/db/models/query.py"
"""The file that is changed: 100 kB."""
CLICK, FLOOR, STAGED_FLOOR, CHECK, STAGED, OWN, WARM, COLD, TACH = (
    "import click",
    "git and ast.parse alone",
    "git and ast.parse alone, staged",
    "kl arch check",
    "kl arch check --staged",
    "our pre-commit git hook",
    "lint-imports, warm",
    "lint-imports, cold",
    "tach check",
)
_NUMBERS = itertools.count()


def write_rules(repo: Repository, rules: Allowed, unassigned_imports: str = "ignore") -> None:
    """Puts the rules there for all, and stages ours. `unassigned_imports`: as in our manifest."""
    (repo.top / ".kl" / "architecture.yaml").write_text(
        manifest(rules, unassigned_imports), encoding="utf-8"
    )
    (repo.top / ".importlinter").write_text(importlinter(rules, repo.packages), encoding="utf-8")
    (repo.top / "tach.toml").write_text(tach(rules), encoding="utf-8")
    repo.git("add", "-f", ".kl/architecture.yaml")


def edit(repo: Repository, more: str = "") -> None:
    """Gives the changed file a content that nobody has seen, and stages it. `more`: a line at its
    end.
    """
    text = repo.git("show", f"made:{CHANGED}").decode("utf-8")
    text += f"\n\ndef _bench_{next(_NUMBERS)}():\n    return {next(_NUMBERS)}\n\n\n{more}\n"
    (repo.top / CHANGED).write_text(text, encoding="utf-8")
    repo.git("add", CHANGED)


def importing(repo: Repository) -> dict[str, str]:
    """For processes that look for the packages of the repository; their lines are not wrapped."""
    environ = repo.environ()
    return environ | {"PYTHONPATH": f"{environ['PYTHONPATH']}:{repo.top}", "COLUMNS": "1000"}


def ran(repo: Repository, *argv: str) -> str:
    """What a check prints, whether it finds something or not. CalledProcessError where it has no
    verdict.
    """
    run = subprocess.run(
        argv, cwd=repo.top, env=importing(repo), capture_output=True, text=True, check=False
    )
    if run.returncode not in (0, 1):
        raise subprocess.CalledProcessError(run.returncode, argv, run.stdout, run.stderr)
    return run.stdout


def compared(repo: Repository, lint: str | None, title: str, *args: str) -> tuple[Edges, list[str]]:
    """What kl calls broken now, and how import-linter sees it otherwise; one line about both is
    printed.
    """
    ours = broken_for_kl(ran(repo, *repo.kl("arch", "check", *args, "--format", "json")))
    if lint is None:
        print(f"  {title}: {len(ours)} imports broken; import-linter is not installed", flush=True)
        return ours, []
    other = difference(ours, broken_for_importlinter(ran(repo, lint, "--config", ".importlinter")))
    print(
        f"  {title}: {len(ours)} imports broken, {len(other)} differences to import-linter",
        flush=True,
    )
    return ours, other


def verified(repo: Repository, lint: str | None) -> tuple[str, list[str]]:
    """Leaves rules that fit the default of kl. The import that would break one, and what differs in
    the verdicts.
    """
    names = layers(python_files(repo.top), repo.packages)
    nothing: Allowed = {name: [] for name in names}
    write_rules(repo, nothing)
    direct, other = compared(repo, lint, "everything forbidden")
    write_rules(repo, allowed(direct, names))
    other += compared(repo, lint, "what is imported allowed")[1]

    write_rules(repo, nothing, "follow")
    followed = broken_for_kl(ran(repo, *repo.kl("arch", "check", "--format", "json")))
    print(
        f"  imports through files in no layer followed: {len(followed - direct)} more, not"
        " compared",
        flush=True,
    )
    other += [f"only without following: {a} -> {b}" for a, b in sorted(direct - followed)]

    # what was followed is allowed in both: the times need a default check that passes
    rules = allowed(followed, names)
    write_rules(repo, rules)
    mine = str(layer_of(CHANGED.replace("/", "."), names))
    breaking = f"import {next(name for name in names if name != mine and name not in rules[mine])}"
    edit(repo, breaking)
    for args in ((), ("--staged",)):
        found, more = compared(repo, lint, f"`{breaking}` added {' '.join(args)}".rstrip(), *args)
        other += more + ([] if len(found) == 1 else [f"{len(found)} imports broken, not one"])
    write_rules(repo, rules, "follow")
    return breaking, other


def checked(repo: Repository, more: str, *argv: str) -> Side:
    """One check after one edit; the edit does not count. Its exit code is 1 where the edit breaks a
    rule.
    """

    def once() -> Cost:
        edit(repo, more)
        return cost(*argv, cwd=repo.top, environ=importing(repo), codes=(1,) if more else (0,))

    return once


def sides(repo: Repository, more: str) -> Iterator[tuple[str, Side]]:
    """Name → side, of what is installed."""
    yield (
        CLICK,
        lambda: cost(sys.executable, "-c", "import click", cwd=repo.top, environ=repo.environ()),
    )
    for name, source in ((FLOOR, "worktree"), (STAGED_FLOOR, "staged")):
        yield (
            name,
            checked(
                repo, "", sys.executable, str(Path(__file__).with_name("floor.py")), source, CHANGED
            ),
        )
    yield CHECK, checked(repo, more, *repo.kl("arch", "check"))
    yield STAGED, checked(repo, more, *repo.kl("arch", "check", "--staged"))
    yield OWN, checked(repo, more, str(repo.top / ".git" / "hooks" / "pre-commit"))
    lint, other = peers.tool("lint-imports"), peers.tool("tach")
    if lint:
        yield WARM, checked(repo, more, lint, "--config", ".importlinter")
        yield COLD, checked(repo, more, lint, "--config", ".importlinter", "--no-cache")
    if other:
        yield TACH, checked(repo, more, other, "check", "--dependencies")


def rows(seen: dict[str, Cost]) -> list[Row]:
    """The table. Pure."""
    click = seen[CLICK].cpu
    made = [Row(CLICK, f"{click:,.0f} ms CPU", 1.0, CLICK)]
    goals = (
        (FLOOR, None),
        (STAGED_FLOOR, None),
        (CHECK, 1.5),
        (STAGED, 1.5),
        (OWN, 0.6),
        (WARM, None),
        (COLD, None),
    )
    for name, goal in (*goals, (TACH, None)):
        made.append(
            against(name, seen[name].cpu, click, CLICK, goal) if name in seen else missing(name)
        )
    if WARM in seen:
        made += [
            against(name, seen[name].cpu, seen[WARM].cpu, WARM, 0.25) for name in (CHECK, STAGED)
        ]
    return made


def prepared(name: str) -> Repository:
    """The repository, with our git hook, and nothing of the other tools' in the way of git."""
    repo = repository(name)
    (repo.top / ".git" / "info" / "exclude").write_text(
        "/.import_linter_cache/\n/.tach/\n", encoding="utf-8"
    )
    repo.forget()
    ran(repo, *repo.kl("hooks", "install", "--only", "pre-commit"))
    return repo


def main() -> int:
    """1 if the verdicts differ."""
    options = argparse.ArgumentParser()
    options.add_argument("--repository", choices=NAMES, default="django")
    options.add_argument("--rounds", type=int, default=5)
    asked = options.parse_args()
    try:
        repo = prepared(asked.repository)
    except NotHere as why:
        print(f"not measured: {why}")
        return 0
    try:
        print(f"Verdicts on {asked.repository}", flush=True)
        breaking, other = verified(repo, peers.tool("lint-imports"))
        print("\n".join(f"    {line}" for line in other[:20]), end="\n" if other else "")
        size = Path(repo.top / CHANGED).stat().st_size // 1000
        for what, more in (("a body changed", ""), ("a forbidden import added", breaking)):
            seen = median_costs(dict(sides(repo, more)), asked.rounds, may_fail=(WARM, COLD, TACH))
            show(
                f"Check of {asked.repository} after {what} in a file of {size} kB: {asked.rounds}"
                " rounds",
                rows(seen),
            )
    finally:
        ran(repo, *repo.kl("hooks", "uninstall"))
        repo.git("reset", "-q", "--hard", "made")
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main())
