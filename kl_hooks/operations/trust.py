"""Operations of trust: whose signatures make evidence of others count. Only a person changes it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.clock import iso
from kl_hooks.errors import UsageProblem
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.parameter import InputFile, Parameter
from kl_hooks.operations.operation import Operation
from kl_hooks.operations.store import configure, require_person
from kl_hooks.sharing.attestation import (
    NAMESPACE,
    TRUST_FILE,
    TrustedKey,
    fingerprint,
    public_key,
    read_signer,
    trusted_keys,
)

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.workspace import Workspace

_LONGEST_KEY: Final = 1 << 16
_DAY: Final = lazy_pattern(r"\d{4}-\d\d-\d\d")
_NAME: Final = Parameter("Its name.", argument="NAME")


def _require_person(ws: Workspace) -> None:
    # whom to trust decides what is proven: that is a person's decision
    require_person(ws, "whom to trust", "Keys are in git's configuration.")


class Change(NamedTuple):
    """A change of the keys that are trusted."""

    name: str
    change: str
    """added, removed or revoked."""
    line: str
    """For people."""


def _change_to_dict(change: Change) -> dict[str, Any]:
    return {"name": change.name, "change": change.change}


class AddRequest(NamedTuple):
    """Which key, and for how long."""

    name: Annotated[str, _NAME]
    key: Annotated[
        InputFile,
        Parameter("A public key of OpenSSH, such as id_ed25519.pub (required).", metavar="FILE"),
    ] = InputFile("")
    role: Annotated[
        str, Parameter("Whose it is.", choices=("person", "ci"), is_default_shown=True)
    ] = "person"
    expires: Annotated[
        str,
        Parameter("The last day (UTC) on which it counts, such as 2027-12-31.", metavar="DATE"),
    ] = ""
    team: Annotated[bool, Parameter("Write it to .kl/trust, for everybody, once it is merged.")] = (
        False
    )


def _add(ws: Workspace, request: AddRequest, _access: Access) -> Change:
    _require_person(ws)
    name = request.name
    role = request.role
    if ws.git_settings and ws.git_settings.kl.get(f"trust.{name}.revoked") and not request.team:
        hint = f"Take another name, or: kl trust remove {name}"
        raise UsageProblem("this key is revoked.", place=name, hint=hint)
    key = _read_key(request.key)
    line = _checked_line(ws, request, key)
    if request.team:
        _append(ws.root / TRUST_FILE, line)
        text = f"added to {TRUST_FILE}. It counts once it is in the commit that you trust"
        return Change(name, "added", f"{text} (git config kl.trustRef).")
    # the key last: killed before it, nothing is trusted; killed after it, nothing of what limits it
    # is missing
    if request.expires:
        limits = {"validBefore": f"{request.expires}T23:59:59Z"}
    else:
        limits = {}
    for word, value in {**limits, "role": role, "key": key}.items():
        configure(ws, f"kl.trust.{name}.{word}", value)
    return Change(name, "added", f"{name} ({role}) is trusted here: {fingerprint(key)}")


def _read_key(name: str) -> str:
    """Read a public key. UsageProblem for a file that is none."""
    file = Path(name)
    if not name or not file.is_file():
        raise UsageProblem("give the file of a public key.", place=f"--key {name}".strip())
    with file.open("rb") as opened:  # a key is short; a device has no end
        text = opened.read(_LONGEST_KEY).decode("utf-8", "replace")
    try:
        return public_key(text)
    except ValueError as problem:
        if "PRIVATE KEY" in text:
            hint = f"Give the public key: {file}.pub"
        else:
            hint = ""
        raise UsageProblem(f"{problem}.", place=name, hint=hint) from None


def _checked_line(ws: Workspace, request: AddRequest, key: str) -> str:
    """The line of allowed_signers. UsageProblem where a part of it is of no use."""
    name = request.name
    expires = request.expires
    if expires and not _DAY.fullmatch(expires):
        raise UsageProblem("give a date such as 2027-12-31.", place=f"--expires {expires}")
    if expires and expires < iso(ws.clock.now())[:10]:
        reason = "that is in the past: the key would never count."
        raise UsageProblem(reason, place=f"--expires {expires}")
    if expires:
        before = f',valid-before="{expires.replace("-", "")}235959Z"'
    else:
        before = ""
    line = f'{request.role}:{name} namespaces="{NAMESPACE}"{before} {key}'
    signer = read_signer("kl trust add", 1, line)
    if not isinstance(signer, TrustedKey):
        hint = "A name has letters, digits, - and _; a date is 2027-12-31."
        raise UsageProblem(signer.message, place=name, hint=hint)
    return line


def _append(path: Path, line: str) -> None:
    from kl_hooks.store.files import write_atomic

    before = b"# Keys that vouch for evidence, as ssh's allowed_signers.\n"
    if path.exists():
        before = path.read_bytes()
    path.parent.mkdir(exist_ok=True)
    gap = b"" if before.endswith(b"\n") else b"\n"
    write_atomic(path, before + gap + f"{line}{os.linesep}".encode())


ADD: Final = Operation(
    "trust add",
    "Trust a public key from now on, under NAME.",
    AddRequest,
    _add,
    _change_to_dict,
    "kl.trust.change/1",
    "kl trust add github --key ci.pub --role ci",
    is_tool=False,
)


class ListRequest(NamedTuple):
    """Which keys."""

    trust_ref: Annotated[
        str, Parameter("Also the keys of .kl/trust in this commit.", metavar="REF")
    ] = ""


class Keys(NamedTuple):
    """The keys that are trusted."""

    keys: tuple[TrustedKey, ...]
    notes: tuple[str, ...]
    """What is wrong with how they are configured."""


def _list(ws: Workspace, request: ListRequest, _access: Access) -> Keys:
    trust = trusted_keys(ws, request.trust_ref)
    keys = sorted(trust.keys.values(), key=lambda key: (key.name, key.fingerprint))
    return Keys(tuple(keys), tuple(map(str, trust.problems)))


def _keys_to_dict(trusted_keys: Keys) -> dict[str, Any]:
    names = ("name", "role", "fingerprint", "key", "place", "revoked", "origin")
    rows = [{name: getattr(key, name) for name in names} for key in trusted_keys.keys]
    return {"keys": rows, "problems": list(trusted_keys.notes), "total": len(rows)}


LIST: Final = Operation(
    "trust list",
    "List the trusted keys, and where each is configured.",
    ListRequest,
    _list,
    _keys_to_dict,
    "kl.trust.list/1",
    "kl trust list --trust-ref origin/main",
    is_tool=False,
)


class KeyRequest(NamedTuple):
    """Which key."""

    name: Annotated[str, _NAME]


def _require_known(ws: Workspace, name: str) -> None:
    if ws.git_settings is None or f"trust.{name}.key" not in ws.git_settings.kl:
        reason = "no key of this name is in your git configuration."
        raise UsageProblem(reason, place=name, hint="See: kl trust list")


def _remove(ws: Workspace, request: KeyRequest, _access: Access) -> Change:
    _require_person(ws)
    _require_known(ws, request.name)
    configure(ws, "--remove-section", f"kl.trust.{request.name}")
    return Change(request.name, "removed", f"{request.name} is not trusted any more.")


def _revoke(ws: Workspace, request: KeyRequest, _access: Access) -> Change:
    _require_person(ws)
    _require_known(ws, request.name)
    configure(ws, f"kl.trust.{request.name}.revoked", "true")
    return Change(request.name, "revoked", f"{request.name} is revoked.")


REMOVE: Final = Operation(
    "trust remove",
    "Remove a key from your git configuration: what it signed counts no more.",
    KeyRequest,
    _remove,
    _change_to_dict,
    "kl.trust.change/1",
    "kl trust remove github",
    is_tool=False,
)
REVOKE: Final = Operation(
    "trust revoke",
    "Mark a key as revoked: what it signed counts no more, also where .kl/trust still names it.",
    KeyRequest,
    _revoke,
    _change_to_dict,
    "kl.trust.change/1",
    "kl trust revoke github",
    is_tool=False,
)

OPERATIONS: Final = (ADD, LIST, REMOVE, REVOKE)
