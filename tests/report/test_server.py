"""The page from a server: whom it answers, and that it loads itself again."""

from __future__ import annotations

import http.client
import signal
import subprocess
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.report.page import render
from kl_hooks.tools.report_server import ReportServer
from tests.report.conftest import Visit
from tests.report.sample import small
from tests.support import KL, Checkout

pytest.importorskip("jinja2", reason="the extra kl-hooks[report] is not installed")
TOKEN = "t0ken-of-a-test"


class Data:
    """A report whose version moves on when a test asks."""

    def __init__(self) -> None:
        self.number, self.pages = 1, 0

    def version(self) -> str:
        return f"v{self.number}"

    def page(self, version: str) -> str:
        self.pages += 1
        if self.number > 99:
            raise EnvironmentProblem("the store is gone.", place="kl report")
        report = small()
        report["now"]["sentence"] = f"Version {self.number}."
        return render(report, live=version)


@pytest.fixture
def data() -> Data:
    return Data()


@pytest.fixture
def server(data: Data) -> Iterator[ReportServer]:
    with ReportServer(data.page, data.version, TOKEN, port=0) as started:
        thread = threading.Thread(target=started.serve_forever, args=(0.01,))
        thread.start()
        yield started
        started.shutdown()
        thread.join()


def _ask(server: ReportServer, path: str, **headers: str) -> tuple[int, str, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    names = {name.replace("_", "-"): text for name, text in headers.items()}
    connection.request(names.pop("method", "GET"), path, headers=names)
    answer = connection.getresponse()
    content = answer.read().decode()
    connection.close()
    return answer.status, content, dict(answer.getheaders())


def test_the_page_is_made_anew_and_labelled_with_its_version(
    server: ReportServer, data: Data
) -> None:
    assert server.address == f"http://127.0.0.1:{server.server_port}/{TOKEN}/"
    status, page, headers = _ask(server, f"/{TOKEN}/")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert 'data-live="v1"' in page and "Version 1." in page
    assert headers["Cache-Control"] == "no-store"
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    data.number = 3
    assert "Version 3." in _ask(server, f"/{TOKEN}/")[1] and data.pages == 2
    assert _ask(server, f"/{TOKEN}/version")[:2] == (200, "v3")


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/", {}, 401),
        ("/version", {}, 401),
        (f"/{TOKEN[:-1]}/", {}, 401),
        (f"/{TOKEN}x/version", {}, 401),
        (f"/{TOKEN}/../etc/passwd", {}, 404),
        (f"/{TOKEN}/report.json", {}, 404),
        (f"/{TOKEN}/", {"Host": "shop.example:80"}, 403),
        (f"/{TOKEN}/", {"Origin": "http://shop.example"}, 403),
        (f"/{TOKEN}/", {"Sec_Fetch_Site": "cross-site"}, 403),
        (f"/{TOKEN}/", {"method": "POST"}, 501),
        (f"/{TOKEN}/", {"method": "DELETE"}, 501),
    ],
)
def test_others_are_refused(
    server: ReportServer, data: Data, path: str, headers: dict[str, str], status: int
) -> None:
    answer = _ask(server, path, **headers)
    assert (answer[0], data.pages) == (status, 0)
    assert "<script" not in answer[1] and answer[2]["Content-Type"] == "application/json"


def test_a_problem_is_stated_and_the_server_goes_on(server: ReportServer, data: Data) -> None:
    data.number = 100
    status, text, headers = _ask(server, f"/{TOKEN}/")
    assert (status, headers["Refresh"]) == (503, "5") and "the store is gone." in text
    data.number = 5
    assert _ask(server, f"/{TOKEN}/")[0] == 200


def test_a_port_in_use_is_named(server: ReportServer, data: Data) -> None:
    with pytest.raises(EnvironmentProblem, match="kl report --serve"):
        ReportServer(data.page, data.version, TOKEN, port=server.server_port)


@pytest.mark.once
def test_an_open_page_loads_itself_again_where_it_was(
    visit: Visit, server: ReportServer, data: Data
) -> None:
    page: Any = visit.page
    page.clock.install()
    page.goto(f"{server.address}#proof")
    page.locator("h1:visible", has_text="How much").wait_for()
    assert visit.text("h1:visible") == "How much of the code is proven"
    data.number = 7
    with page.expect_navigation():
        page.clock.fast_forward(3100)
    assert page.url.endswith("/#proof")
    page.evaluate("location.hash = '#now'")
    page.locator("h1", has_text="Version 7.").wait_for()
    pages = data.pages
    page.clock.fast_forward(9500)
    assert data.pages == pages


@pytest.mark.once
def test_the_command_serves_a_page_that_shows_runs_and_commits(
    visit: Visit, repo: Checkout
) -> None:
    repo.write("test_shop.py", "def test_total():\n    assert sum([1, 2]) == 3\n")
    repo.commit("the shop")
    with subprocess.Popen(
        [*KL, "report", "--serve"], cwd=repo.root, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        page: Any = visit.page
        page.goto(f"{address}#tests")
        page.locator("h1:visible", has_text="0 tests").wait_for()
        with page.expect_navigation(timeout=20_000):
            assert repo.pytest("-q").returncode == 0
        page.locator("h1:visible", has_text="1 test").wait_for()
        assert page.url == f"{address}#tests"
        with page.expect_navigation(timeout=20_000):
            repo.git("commit", "-q", "--allow-empty", "-m", "nothing new")
        page.locator(".subject", has_text="nothing new").wait_for()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


def test_a_served_page_has_no_file(repo: Checkout) -> None:
    done = repo.kl("report", "--serve", "-o", "page.html")
    assert done.returncode == 2 and "takes no --output" in done.stderr
    assert not (repo.root / "page.html").exists()
