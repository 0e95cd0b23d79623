"""`kl trust`: the keys whose signatures count."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kl_hooks.cli.options import format_option
from kl_hooks.cli.output import print_answer, print_list, warn, workspace
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.model.actors import agent

_LONGEST_KEY = 1 << 16
_DAY = re.compile(r"\d{4}-\d\d-\d\d")

if TYPE_CHECKING:
    from kl_hooks.evidence.attestation import TrustedKey
    from kl_hooks.workspace import Workspace


@click.group()
def trust() -> None:
    """The keys whose signatures make evidence of others count: add, list, remove, revoke.

    They are in your git configuration. A team's are in `.kl/trust`, which counts only as it is in a commit that you
    name: git config kl.trustRef origin/main, or kl verify --trust-ref origin/main.
    """


@trust.command(epilog="Example: kl trust add github --key ci.pub --role ci")
@click.argument("name")
@click.option("--key", "file", required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="A public key of OpenSSH, such as id_ed25519.pub.")  # fmt: skip
@click.option("--role", type=click.Choice(["person", "ci"]), default="person", show_default=True)
@click.option(
    "--expires", metavar="DATE", default="", help="The last day (UTC) on which it counts, such as 2027-12-31."
)
@click.option("--team", is_flag=True, help="Write it to .kl/trust, for everybody, once it is merged.")
@format_option()
def add(name: str, file: Path, role: str, expires: str, team: bool, shape: str) -> None:
    """Trust a public key from now on, under NAME."""
    from kl_hooks.evidence.attestation import TRUST_FILE, fingerprint, public_key

    ws = _workspace()
    if ws.git_settings and ws.git_settings.kl.get(f"trust.{name}.revoked") and not team:
        raise UsageProblem("this key is revoked.", place=name, hint=f"Take another name, or: kl trust remove {name}")
    try:
        with file.open("rb") as opened:  # a key is short; a device has no end
            text = opened.read(_LONGEST_KEY).decode("utf-8", "replace")
        key = public_key(text)
    except ValueError as problem:
        private = "PRIVATE KEY" in text
        hint = f"Give the public key: {file}.pub" if private else ""
        raise UsageProblem(f"{problem}.", place=str(file), hint=hint) from None
    line = _checked(ws, name, role, key, expires)
    if team:
        _append(ws.root / TRUST_FILE, line)
        how = f"added to {TRUST_FILE}. It counts once it is in the commit that you trust (git config kl.trustRef)."
        _print_change(shape, name, "added", how)
        return
    # the key last: killed before it, nothing is trusted; killed after it, nothing of what limits it is missing
    values = ({"validBefore": f"{expires}T23:59:59Z"} if expires else {}) | {"role": role, "key": key}
    for word, value in values.items():
        _git(ws, "config", "--local", f"kl.trust.{name}.{word}", value)
    _print_change(shape, name, "added", f"{name} ({role}) is trusted here: {fingerprint(key)}")


@trust.command("list", epilog="Example: kl trust list --trust-ref origin/main")
@click.option("--trust-ref", metavar="REF", default="", help="Also the keys of .kl/trust in this commit.")
@format_option()
def list_(trust_ref: str, shape: str) -> None:
    """List the trusted keys, and where each is configured."""
    from kl_hooks.evidence.attestation import trusted_keys

    found = trusted_keys(workspace(), trust_ref)
    keys = sorted(found.keys.values(), key=lambda one: (one.name, one.fingerprint))
    plain = {"schema": "kl.trust.list/1", "keys": [_to_dict(one) for one in keys],
             "problems": [str(one) for one in found.problems], "total": len(keys)}  # fmt: skip
    none = "no key is trusted: evidence of others never counts. See: kl trust add --help"
    print_list(shape, plain, list(_lines(keys)), len(keys), none)
    for one in found.problems:
        warn(str(one))


@trust.command(epilog="Example: kl trust remove github")
@click.argument("name")
@format_option()
def remove(name: str, shape: str) -> None:
    """Remove a key from your git configuration: what it signed counts no more."""
    ws = _workspace()
    _known(ws, name)
    _git(ws, "config", "--local", "--remove-section", f"kl.trust.{name}")
    _print_change(shape, name, "removed", f"{name} is not trusted any more.")


@trust.command(epilog="Example: kl trust revoke github")
@click.argument("name")
@format_option()
def revoke(name: str, shape: str) -> None:
    """Mark a key as revoked: what it signed counts no more, also where .kl/trust still names it."""
    ws = _workspace()
    _known(ws, name)
    _git(ws, "config", "--local", f"kl.trust.{name}.revoked", "true")
    _print_change(shape, name, "revoked", f"{name} is revoked.")


def _print_change(shape: str, name: str, what: str, line: str) -> None:
    print_answer(shape, {"schema": "kl.trust.change/1", "name": name, "change": what}, [line])


def _workspace() -> Workspace:
    ws = workspace()
    if ws.repo is None:
        raise EnvironmentProblem("not a git repository.", place=str(ws.root), hint="Keys are in git's configuration.")
    # whom to trust decides what is proven: that is a person's decision
    if name := agent(ws.environ):
        raise UsageProblem("only a person decides whom to trust.", place=f"agent:{name}")
    return ws


def _git(ws: Workspace, *args: str) -> None:
    from kl_hooks.git.repository import git_in

    assert ws.repo is not None
    git_in(ws.repo, *args)


def _known(ws: Workspace, name: str) -> None:
    if ws.git_settings is None or f"trust.{name}.key" not in ws.git_settings.kl:
        raise UsageProblem("no key of this name is in your git configuration.", place=name, hint="See: kl trust list")


def _checked(ws: Workspace, name: str, role: str, key: str, expires: str) -> str:
    """The line of allowed_signers. UsageProblem where a part of it is of no use."""
    from kl_hooks.clock import iso
    from kl_hooks.evidence.attestation import NAMESPACE, TrustedKey, read_signer

    if expires and not _DAY.fullmatch(expires):
        raise UsageProblem("give a date such as 2027-12-31.", place=f"--expires {expires}")
    if expires and expires < iso(ws.clock.now())[:10]:
        raise UsageProblem("that is in the past: the key would never count.", place=f"--expires {expires}")
    before = f',valid-before="{expires.replace("-", "")}235959Z"' if expires else ""
    line = f'{role}:{name} namespaces="{NAMESPACE}"{before} {key}'
    found = read_signer("kl trust add", 1, line)
    if not isinstance(found, TrustedKey):
        raise UsageProblem(found.message, place=name, hint="A name has letters, digits, - and _; a date is 2027-12-31.")
    return line


def _append(path: Path, line: str) -> None:
    from kl_hooks.store.files import write_atomic

    before = path.read_bytes() if path.exists() else b"# Keys that vouch for evidence, as ssh's allowed_signers.\n"
    path.parent.mkdir(exist_ok=True)
    gap = b"" if before.endswith(b"\n") else b"\n"
    write_atomic(path, before + gap + f"{line}{os.linesep}".encode())


def _to_dict(one: TrustedKey) -> dict[str, Any]:
    return {"name": one.name, "role": one.role, "fingerprint": one.fingerprint, "key": one.key, "place": one.place,
            "revoked": one.revoked, "origin": one.origin}  # fmt: skip


def _lines(keys: list[TrustedKey]) -> Iterator[str]:
    from kl_hooks.clock import iso

    for one in keys:
        until = f"  until {iso(one.valid_before)[:10]}" if one.valid_before else ""
        yield f"{one.name:<16} {one.role:<7} {one.fingerprint}  {one.place}{until}{'  revoked' if one.revoked else ''}"
