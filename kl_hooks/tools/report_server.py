"""The report page from a server on this machine: it only reads, and makes the page anew for each
request.

The token is a part of the address, since a browser sends no header of ours. A cookie would be sent
to every other server of this machine. The page asks for the version of its data, and loads itself
again when a run or a commit has changed it.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from threading import Lock
from typing import Any, Final

from kl_hooks.errors import KlError
from kl_hooks.tools.call import failed
from kl_hooks.tools.local_server import HOST, LocalHandler, LocalServer, Refused

_HTML: Final = "text/html; charset=utf-8"
_TEXT: Final = "text/plain; charset=utf-8"
_SECONDS: Final = "5"
"""After which a browser asks again, where the page could not be made."""


class ReportServer(LocalServer):
    """A server of the page of one repository. `address` is where it is."""

    def __init__(
        self,
        page: Callable[[str], str],
        version: Callable[[], str],
        token: str,
        *,
        port: int,
        **limits: Any,
    ) -> None:
        """`page`: makes the page for a version. `version`: of the data at this moment, cheap.

        `limits`: `seconds` and `connections`, as `LocalServer`.
        """
        self._page, self.version = page, version
        self._one_at_a_time = Lock()
        super().__init__(_Handler, token, port=port, command="kl report --serve", **limits)

    @property
    def address(self) -> str:
        """What to open in a browser; who knows it may read the page."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    def page(self) -> str:
        """Return the page as of now. What changes while it is made, it finds when it asks."""
        with self._one_at_a_time:
            return self._page(self.version())


class _Handler(LocalHandler):
    server: ReportServer

    def do_GET(self) -> None:
        """Answer the page, or the version of its data."""
        try:
            self.check_sender()
            kind, text = self._content()
        except Refused as refused:
            self.close_connection = True
            self.send_json(refused.status, failed("", KlError(str(refused))))
            return
        except KlError as problem:
            # a page that is open asks again until it is solved
            self.send_json(HTTPStatus.SERVICE_UNAVAILABLE, failed("", problem), Refresh=_SECONDS)
            return
        except Exception as fault:  # a bug of ours is stated, and the next request is answered
            self.close_connection = True
            reason = f"internal error: {type(fault).__name__}: {fault}"
            self.send_json(HTTPStatus.INTERNAL_SERVER_ERROR, failed("", KlError(reason)))
            return
        self.send_content(
            HTTPStatus.OK,
            kind,
            text.encode(),
            # what a policy in the page can't state
            Content_Security_Policy="frame-ancestors 'none'",
            Referrer_Policy="no-referrer",
            Cross_Origin_Resource_Policy="same-origin",
        )

    def _content(self) -> tuple[str, str]:
        token, _, name = self.path.removeprefix("/").partition("/")
        if not self.is_token(token):
            raise Refused(
                HTTPStatus.UNAUTHORIZED, "open the address that kl report --serve printed."
            )
        if name == "":
            return _HTML, self.server.page()
        if name == "version":
            return _TEXT, self.server.version()
        raise Refused(HTTPStatus.NOT_FOUND, "nothing is here: the page is at the address itself.")
