"""What commands cost: `kl status` against `import click`, `git commit` with our post-commit git
hook against without.

python -m bench.command_cost [--rounds 15]
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench.measure import environment, medians, python, wall

FILES = 200


def repository(folder: Path) -> Path:
    """A repository with a `.kl/`, some modules and one commit."""
    (folder / ".kl").mkdir(parents=True)
    (folder / ".kl" / "config.yaml").write_text("", encoding="utf-8")
    (folder / "pkg").mkdir()
    for n in range(FILES):
        (folder / "pkg" / f"m{n}.py").write_text(
            f"import os\n\n\ndef f{n}() -> int:\n    return {n}\n", encoding="utf-8"
        )
    for args in (
        ("init", "-q"),
        ("config", "user.name", "b"),
        ("config", "user.email", "b@b"),
        ("add", "-A"),
    ):
        git(folder, *args)
    git(folder, "commit", "-qm", "Start")
    return folder


def git(folder: Path, *args: str) -> None:
    subprocess.run(["git", *args], cwd=folder, check=True, env=environment(), capture_output=True)


def committing(folder: Path) -> Callable[[], float]:
    """One commit of one changed file, in milliseconds on the clock."""
    path = folder / "pkg" / "m0.py"
    state = {"n": 0}

    def once() -> float:
        state["n"] += 1
        path.write_text(f"x = {state['n']}\n", encoding="utf-8")
        return wall(lambda: git(folder, "commit", "-aqm", f"Change {state['n']}"))

    return once


def main() -> None:
    """Measures and prints."""
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=15)
    rounds = options.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="kl-bench-") as place:
        plain, hooked = repository(Path(place) / "plain"), repository(Path(place) / "hooked")
        python("-m", "kl_hooks", "hooks", "install", "--only", "post-commit", cwd=hooked)
        python("-m", "kl_hooks", "status", cwd=hooked)
        without, with_ours = medians([committing(plain), committing(hooked)], 2 * rounds)
        click, version, status, record, staged = medians(
            [
                lambda: python("-c", "import click", cwd=plain),
                lambda: python("-m", "kl_hooks", "--version", cwd=hooked),
                lambda: python("-m", "kl_hooks", "status", cwd=hooked),
                lambda: python("-m", "kl_hooks", "commits", "record", cwd=hooked),
                lambda: python("-m", "kl_hooks", "arch", "check", "--staged", cwd=hooked),
            ],
            rounds,
        )
    shown = f"(wall {with_ours:.1f} / {without:.1f} ms; goal 1.10)"
    print(
        f"git commit with our post-commit / without              {with_ours / without:6.2f}  "
        f" {shown}"
    )
    for name, cost, goal in (
        ("kl --version", version, ""),
        ("kl status", status, "; goal 3"),
        ("kl commits record", record, ""),
        ("kl arch check --staged (no manifest)", staged, ""),
    ):
        print(
            f"{name:<40} / import click {cost / click:6.2f}   (CPU {cost:.0f} / {click:.0f}"
            f" ms{goal})"
        )


if __name__ == "__main__":
    main()
