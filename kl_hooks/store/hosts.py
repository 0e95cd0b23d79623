"""Whether a host is this machine: what is sent to it leaves no wire."""

from __future__ import annotations

from ipaddress import ip_address


def is_this_machine(host: str) -> bool:
    """Return whether a host of a URL is a socket, or an address of this machine; none is a
    socket.
    """
    if host in ("", "localhost") or host.startswith(("/", "@")):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
