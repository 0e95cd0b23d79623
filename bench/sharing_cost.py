"""What sharing evidence costs: a commit and a `git push` with and without kl's hooks, and `kl
sync`, signed or not.

With layers the hooks start Python to check them, and without them nothing.

Each side makes a commit of its own; a run of TESTS tests with what they executed is recorded for
it. The sides in turn, medians, and ratios to git alone.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.measure import Cost, command, cost, median_costs

KL = (sys.executable, "-m", "kl_hooks")


class Clone:
    """A clone with a server of its own, in which commits are made and runs recorded."""

    def __init__(self, folder: Path, tests: int, kind: str) -> None:
        self.root, server = folder / "work", folder / "server.git"
        self._number, self._tests = 0, tests
        subprocess.run(["git", "init", "-q", "--bare", str(server)], check=True)
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)
        for args in (
            ("config", "user.name", "b"),
            ("config", "user.email", "b@b"),
            ("remote", "add", "origin", str(server)),
        ):
            self._git(*args)
        self._write(
            "test_all.py",
            "import pytest\nfrom code_0 import one\n\n\n@pytest.mark.parametrize('n', "
            f"range({tests}))\ndef test_one(n):\n    assert one(n) == n\n",
        )
        self._write(".gitignore", "__pycache__/\n.pytest_cache/\n")
        self._write(".kl/README.md", "Here.\n")
        self._write("code_0.py", "def one(n):\n    return n\n")
        if kind == "layers":
            self._write(
                ".kl/architecture.yaml",
                "layers:\n- {name: code, paths: [code_0.py], may_depend_on: []}\n",
            )
        if kind in ("hooks", "layers"):
            command(*KL, "hooks", "install", cwd=self.root)

    def _git(self, *args: str) -> None:
        subprocess.run(["git", *args], cwd=self.root, check=True, capture_output=True)

    def _write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def commit(self) -> Cost:
        """A commit of one new file."""
        self._number += 1
        self._write(f"module_{self._number}.py", f"def two():\n    return {self._number}\n")
        self._git("add", "-A")
        return cost("git", "commit", "-qm", "more", cwd=self.root)

    def push(self) -> Cost:
        """A push of one commit."""
        self.commit()
        return cost("git", "push", "-q", "origin", "HEAD:main", cwd=self.root)

    def sync(self, *options: str) -> Cost:
        """A `kl sync` after one recorded run of a new commit."""
        self.commit()
        command(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=self.root)
        return cost(*KL, "sync", *options, cwd=self.root)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tests", type=int, default=2000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kl-sharing-") as name:
        folder = Path(name)
        key = folder / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
        clones = {}
        for kind in ("plain", "hooks", "layers", "unsigned", "signed"):
            (folder / kind).mkdir()
            clones[kind] = Clone(folder / kind, options.tests, kind)
        found = median_costs(
            {
                "git commit": clones["plain"].commit,
                "git commit, kl's hooks": clones["hooks"].commit,
                "git commit, hooks and layers": clones["layers"].commit,
                "git push": clones["plain"].push,
                "git push, kl's hooks": clones["hooks"].push,
                "git push, hooks and layers": clones["layers"].push,
                "kl sync": clones["unsigned"].sync,
                "kl sync, signed": lambda: clones["signed"].sync("--sign", str(key)),
            },
            options.rounds,
        )
    for name, one in found.items():
        base = found["git commit" if "commit" in name else "git push"]
        print(
            f"{name:<28} {one.cpu:7.0f} ms CPU {one.wall:7.0f} ms   {one.cpu / base.cpu:5.1f} x"
            " git's"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
