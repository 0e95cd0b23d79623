"""What an address of a PostgreSQL server would send in the clear: refused, since it may be somebody
else's.

The address is in git's configuration, which an archive or a shared folder brings along. The
password is yours. libpq itself resolves where it would go: the address, service files, environment
variables.
"""

from __future__ import annotations

import os
from ipaddress import ip_address
from typing import Any, Final

from kl_hooks.errors import UsageProblem

_CLEAR: Final = ("disable", "allow")
"""Values of `sslmode` with which libpq sends a password without TLS first."""


def tls_options(url: str) -> dict[str, str]:
    """Options that the connection needs besides those of the address. UsageProblem where the address
    sends a password to another machine in the clear, or to another one than it names.
    """
    from psycopg.conninfo import conninfo_to_dict

    explicit = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    values = _defaults(explicit.get("service", "")) | explicit
    mode = values.get("sslmode", "prefer")
    if explicit.get("hostaddr") and explicit.get("host") and mode != "verify-full":
        reason = "hostaddr sends the password of one host to another."
        hint = "Name the host alone, or check its certificate: ?sslmode=verify-full."
        raise UsageProblem(reason, place="kl.store", hint=hint)
    hosts = (values.get("hostaddr") or values.get("host") or "").split(",")
    if all(_is_local(host) for host in hosts):
        return {}
    if mode in _CLEAR:
        reason = f"sslmode={mode} sends the password to another machine in the clear."
        hint = "Use TLS: ?sslmode=require, or verify-full."
        raise UsageProblem(reason, place="kl.store", hint=hint)
    # `prefer` sends everything in the clear where the server offers no TLS
    return {"sslmode": "require"} if mode == "prefer" else {}


def _defaults(service: str) -> dict[str, str]:
    """What libpq reads in the environment and a service file, by its own reading."""
    from psycopg.pq import Conninfo

    before = os.environ.get("PGSERVICE")
    if service:
        os.environ["PGSERVICE"] = service
    try:
        options: list[Any] = Conninfo.get_defaults()
    finally:
        if service and before is None:
            del os.environ["PGSERVICE"]
        elif service and before is not None:
            os.environ["PGSERVICE"] = before
    return {option.keyword.decode(): option.val.decode() for option in options if option.val}


def _is_local(host: str) -> bool:
    """A socket, or an address of this machine; libpq's default host is a socket."""
    if host in ("", "localhost") or host.startswith(("/", "@")):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
