"""Working trees in odd states: what is staged in part, conflicts, a rebase or a bisection that is
not over, linked working trees, submodules, sparse checkouts, LFS pointers, odd names.
"""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from bench.soak.stage import Outcome, Stage, Subject, complaints
from bench.soak.writers import MODULE, by_name, import_all, make_repository
from tests.support import Checkout, Done

COMMANDS: Final = (
    ("status",),
    ("arch", "check"),
    ("arch", "check", "--staged"),
    ("commits", "record"),
    ("doctor",),
    ("context", "round the total"),
    ("search", "prices"),
    ("graph", "callers", "total"),
    ("proof", "impacted"),
    ("run", "--", "true"),
    ("evidence", "verify"),
)
"""Commands that must work in every state, and change nothing of it."""
_BROKEN: Final = MODULE.replace("sum(prices)", "len(prices)")
_HARMLESS: Final = MODULE.replace("(prices)", "(amounts)")
_NAMES: Final = (
    "new\nline.py",
    "quote'\".py",
    "\x1b[31mred.py",
    "caf\u00e9.py",
    "cafe\u0301.py",
    "-rf.py",
    "a b.py",
    "CON.py",
    "\u202egpj.py",
    "x" * 200 + ".py",
    "bad\udcff.py",
    "Shop.py",
    "*.py",
    ":(top)a.py",
)
_POINTER: Final = (
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
)
_LAYERS: Final = "version: 1\nlayers:\n  - {name: all, paths: [./]}\n"


def play(stage: Stage, dice: random.Random, number: int) -> Outcome:
    """One state, made of a few changes at random."""
    outcome = Outcome(done=1)
    stage.reset(stage.template("proven", partial(_make_proven, stage)))
    checkout = Checkout(stage.repo)
    changes = [dice.choice(CHANGES) for _ in range(dice.randint(1, 4))]
    for change in changes:
        with suppress(OSError):
            change(checkout, dice)
    words = f"{', '.join(change.__name__.strip('_') for change in changes)}: "
    roots = [stage.repo]
    if (linked := stage.repo / ".linked").is_dir():
        roots.append(linked)
    for root in roots:
        outcome.problems += [words + problem for problem in _play_in(stage, root)]
    return outcome


def _make_proven(stage: Stage) -> None:
    """A repository whose committed content a whole run has proven."""
    make_repository(stage)
    checkout = Checkout(stage.repo)
    checkout.write(".kl/architecture.yaml", _LAYERS)
    checkout.write(".gitignore", "__pycache__/\n.linked/\n")
    checkout.commit("all of it")
    answer = stage.child(partial(by_name("pytest").act, stage, "green")).answer
    assert answer.acknowledged, answer
    stage.child(partial(import_all, stage))


def _play_in(stage: Stage, root: Path) -> list[str]:
    """What is wrong with kl in a working tree of that state."""
    before = digest(root)
    problems = []
    for command in COMMANDS:
        done: Done = stage.child(partial(stage.kl, "--root", str(root), *command)).answer
        problems += complaints(done, command)
        if digest(root) != before:
            problems.append(f"{' '.join(command)} changed the working tree or the index")
            before = digest(root)
    gate: Done = stage.child(partial(stage.kl, "--root", str(root), "verify")).answer
    problems += complaints(gate, ("verify",))
    if gate.returncode == 0 and (code := stage.child(partial(_plain_tests, root)).answer) != 0:
        problems.append(f"false proven: pytest ends with {code}; {gate.stdout}")
    return problems


def digest(root: Path) -> str:
    """A hash over every file of a working tree and over its index, without `.git`."""
    whole = hashlib.sha256()
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(set(folders) - {".git", "__pycache__", ".linked"})
        for name in sorted(names):
            path = Path(folder, name)
            whole.update(os.fsencode(path))
            with suppress(OSError):
                whole.update(
                    os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
                )
    for args in (("ls-files", "-s", "-v", "-z"), ("rev-parse", "--verify", "-q", "HEAD")):
        whole.update(subprocess.run(["git", *args], cwd=root, capture_output=True).stdout)
    return whole.hexdigest()


def _plain_tests(root: Path) -> int:
    """The exit code of the tests without kl, in this child."""
    os.chdir(root)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ["SOAK_KEY"] = "plain"
    os.environ.pop("SOAK_RAN", None)
    sys.path.insert(0, str(root))
    nothing = os.open(os.devnull, os.O_WRONLY)
    for handle in (1, 2):
        os.dup2(nothing, handle)
    return int(pytest.main(["-q", "-p", "no:cacheprovider"]))


def _edit(checkout: Checkout, dice: random.Random) -> None:
    checkout.write("shop.py", dice.choice([_BROKEN, _HARMLESS]))


def _stage_then_edit(checkout: Checkout, dice: random.Random) -> None:
    checkout.write("shop.py", dice.choice([_BROKEN, _HARMLESS, MODULE + "\n"]))
    checkout.git("add", "shop.py", ok=False)
    checkout.write("shop.py", dice.choice([_BROKEN, _HARMLESS, MODULE]))


def _intend_to_add(checkout: Checkout, dice: random.Random) -> None:
    checkout.write(f"new{dice.randrange(9)}.py", "import shop\n")
    checkout.git("add", "-N", ".", ok=False)


def _conflict(checkout: Checkout, dice: random.Random) -> None:
    _diverge(checkout, dice)
    checkout.git("merge", "-q", "side", ok=False)


def _rebase(checkout: Checkout, dice: random.Random) -> None:
    _diverge(checkout, dice)
    checkout.git("rebase", "-q", "side", ok=False)


def _cherry_pick(checkout: Checkout, dice: random.Random) -> None:
    _diverge(checkout, dice)
    checkout.git("cherry-pick", "side", ok=False)


def _diverge(checkout: Checkout, dice: random.Random) -> None:
    """A branch `side` and ours, with different edits of one file."""
    checkout.git("stash", "-q", ok=False)
    checkout.git("branch", "-f", "ours", ok=False)
    checkout.git("checkout", "-q", "-B", "side", ok=False)
    checkout.write("shop.py", _BROKEN)
    checkout.git("commit", "-qam", "side", ok=False)
    checkout.git("checkout", "-q", "ours", ok=False)
    checkout.write("shop.py", MODULE + "# ours\n")
    checkout.git("commit", "-qam", f"ours {dice.random()}", ok=False)


def _bisect(checkout: Checkout, dice: random.Random) -> None:
    checkout.git("bisect", "start", "HEAD", "HEAD~1", ok=False)


def _detach(checkout: Checkout, dice: random.Random) -> None:
    checkout.git("checkout", "-q", "--detach", dice.choice(["HEAD", "HEAD~1"]), ok=False)


def _linked(checkout: Checkout, dice: random.Random) -> None:
    checkout.git("worktree", "add", "-q", "--detach", ".linked", ok=False)
    linked = checkout.root / ".linked" / "shop.py"
    if linked.exists():
        linked.write_text(dice.choice([MODULE, _BROKEN, _HARMLESS]), "utf-8")


def _submodule(checkout: Checkout, dice: random.Random) -> None:
    other = Checkout(checkout.root / ".git" / f"other{dice.randrange(99)}")
    other.root.mkdir(exist_ok=True)
    other.git("init", "-q")
    other.write("part.py", "PART = 1\n")
    other.commit("part")
    add = ("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.root), "part")
    checkout.git(*add, ok=False)
    if dice.random() < 0.5:
        checkout.write("part/part.py", "PART = 2\n")


def _sparse(checkout: Checkout, dice: random.Random) -> None:
    patterns = dice.choice([("/*", "!/docs/"), ("/shop.py",), ("/*", "!/test_shop.py")])
    checkout.git("sparse-checkout", "set", "--no-cone", *patterns, ok=False)


def _pointer(checkout: Checkout, dice: random.Random) -> None:
    checkout.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
    checkout.write(dice.choice(["data.bin", "shop.py"]), _POINTER)
    checkout.git("-c", "filter.lfs.required=false", "add", "-A", ok=False)


def _odd_name(checkout: Checkout, dice: random.Random) -> None:
    for name in dice.sample(_NAMES, 3):
        (checkout.root / name).write_text("import shop\n", "utf-8")
    if dice.random() < 0.5:
        checkout.git("add", "-A", ok=False)


def _remove(checkout: Checkout, dice: random.Random) -> None:
    name = dice.choice(["shop.py", "test_shop.py", "conftest.py", ".kl/architecture.yaml"])
    (checkout.root / name).unlink(missing_ok=True)


def _move(checkout: Checkout, dice: random.Random) -> None:
    checkout.git("mv", "shop.py", dice.choice(["store.py", "docs/shop.py"]), ok=False)


def _hide(checkout: Checkout, dice: random.Random) -> None:
    """An edit that git does not look for."""
    flag = dice.choice(["--assume-unchanged", "--skip-worktree"])
    checkout.git("update-index", flag, "shop.py", ok=False)
    checkout.write("shop.py", _BROKEN)


def _link(checkout: Checkout, dice: random.Random) -> None:
    (checkout.root / "loop").symlink_to(dice.choice([".", "loop", "/etc/passwd", "shop.py"]))


def _corrupt(checkout: Checkout, dice: random.Random) -> None:
    checkout.write("odd.py", dice.choice(["\x00", "def (\n", "(" * 3000, "# coding: nonsense\n"]))


def _empty_index(checkout: Checkout, dice: random.Random) -> None:
    checkout.git("rm", "-rq", "--cached", ".", ok=False)


def _orphan(checkout: Checkout, dice: random.Random) -> None:
    checkout.git("checkout", "-q", "--orphan", f"orphan{dice.randrange(99)}", ok=False)


Change = Callable[[Checkout, random.Random], None]
CHANGES: Final[tuple[Change, ...]] = (
    _edit,
    _stage_then_edit,
    _intend_to_add,
    _conflict,
    _rebase,
    _cherry_pick,
    _bisect,
    _detach,
    _linked,
    _submodule,
    _sparse,
    _pointer,
    _odd_name,
    _remove,
    _move,
    _hide,
    _link,
    _corrupt,
    _empty_index,
    _orphan,
)
SUBJECT: Final = Subject(
    "trees",
    "staged in part, conflicts, rebase, bisect, linked, submodules, sparse, LFS, odd names",
    "states",
    200,
    play,
)
