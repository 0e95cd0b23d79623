"""`kl init` on frameworks whose parts import each other: real layers, a counted baseline, a clean
first check.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from bench.downloads import sdist
from kl_hooks.arch.manifest_parser import read_manifest
from kl_hooks.cli.main import run
from kl_hooks.code import file_facts
from kl_hooks.model.manifest import BASELINE, MANIFEST
from tests.git.repos import make, sh

pytestmark = [pytest.mark.net, pytest.mark.slow]

FRAMEWORKS = {
    "celery": (
        (
            "celery==5.7.0"
            " --hash=sha256:6a5dfcf6662287204f009a02002b9e66c83d4105e47ebabdc7079108772fc6f0"
        ),
        ["utils", "concurrency", "app", "backends", "worker", "bin"],
        "celery/utils/objects.py",
        "celery.worker.state",
    ),
    "luigi": (
        (
            "luigi==3.8.1"
            " --hash=sha256:2fa5eb5d3474e495de09bd964f502936c08f8b1eb6e0f3ca3c8a69116c38d0c3"
        ),
        ["configuration", "contrib", "tools"],
        "luigi/configuration/core.py",
        "luigi.contrib.s3",
    ),
    "nikola": (
        (
            "nikola==8.3.3"
            " --hash=sha256:636d7d6ffc2ab24f4c2649e8695f8bb5604e309153ea4b60b786facae03ab1c7"
        ),
        ["packages", "utils", "plugins"],
        "nikola/utils.py",
        "nikola.plugins.basic_import",
    ),
    "scrapy": (
        (
            "scrapy==2.19.0"
            " --hash=sha256:34130726582b64c91531162ab277c4053e558876d49ba219cb43679e71d80a87"
        ),
        ["settings", "utils", "http", "core", "commands"],
        "scrapy/utils/url.py",
        "scrapy.commands.crawl",
    ),
}
"""Name → the sdist's pin, layers from the bottom up, and an import that they forbid: a file and
what it imports.
"""


@pytest.fixture(scope="module", params=FRAMEWORKS)
def framework(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """A name of `FRAMEWORKS` and its sdist as a repository with one commit."""
    folder = sdist(FRAMEWORKS[request.param][0], tmp_path_factory.mktemp("sdist"))
    for path in (folder, *folder.rglob("*")):
        # root keeps foreign owners, git refuses them
        os.chown(path, os.getuid(), os.getgid(), follow_symlinks=False)
    make(folder)
    sh(folder, "add", "-A")
    sh(folder, "commit", "-qm", "Import")
    return request.param, folder


@pytest.fixture
def scanned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same files are scanned once: `kl init` remembers nothing where kl is not set up, and here
    it often is not.
    """
    made: dict[frozenset[Any], Any] = {}
    scan = file_facts.scan_missing

    def remembered(entries: Any, wanted: Any, known: Any, *more: Any) -> Any:
        missing = frozenset(set(wanted.values()) - set(known))
        if missing not in made:
            made[missing] = scan(entries, wanted, known, *more)
        return made[missing]

    monkeypatch.setattr(file_facts, "scan_missing", remembered)


@pytest.mark.usefixtures("scanned_once")
@pytest.mark.requirement("A49")
@pytest.mark.share("luigi")
def test_real_layers_and_a_clean_first_check(
    framework: tuple[str, Path],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    name, folder = framework
    _, order, low, high = FRAMEWORKS[name]
    monkeypatch.chdir(folder)

    def kl(*args: str) -> tuple[int, str]:
        code = run(args)
        return code, capsys.readouterr().out

    reported = json.loads(kl("init", "--format", "json")[1])
    written = Path(MANIFEST).read_bytes(), Path(BASELINE).read_bytes()
    layers = [layer.name for layer in read_manifest(MANIFEST, written[0]).layers]
    assert [one for one in layers if one in order] == order
    assert not any(re.search(r"-and-\d+-more|^level-", one) for one in layers) and len(layers) > 4
    for layer in read_manifest(MANIFEST, written[0]).layers:
        assert not any(
            re.match(r"(t|test|tests|extras|docs|examples)/", path) for path in layer.paths
        )
    code, out = kl("arch", "check", "--format", "json")
    found = json.loads(out)
    assert (
        code == 0
        and 0 < len(found["accepted"]) == reported["accepted"] < 50
        and found["unassigned"] > 0
    )
    assert f"{reported['accepted']} imports of today" in written[0].decode()
    assert kl("init", "--undo")[0] == 0 and not Path(MANIFEST).exists()
    kl("init")
    assert written == (Path(MANIFEST).read_bytes(), Path(BASELINE).read_bytes())
    Path(low).write_text(f"import {high}\n" + Path(low).read_text())
    code, out = kl("arch", "check")
    assert (
        code == 1
        and f"{low}:1: " in out
        and f"import {high}\n" in out
        and "1 new violation (" in out
    )
    sh(folder, "checkout", "-q", low)
    kl("init", "--undo")
    assert (
        json.loads(kl("init", "--exact", "--format", "json")[1])["accepted"] == 0
        and not Path(BASELINE).exists()
    )
    assert kl("arch", "check")[0] == 0
    kl("init", "--undo")
