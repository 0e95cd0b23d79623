"""grimp is given the folders of packages: nothing of them is imported, and nothing of them is on
`sys.path`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.code.grimp_graph import KnownFolders, place_of_syntax_error

CALL = """\
import json, sys
from kl_hooks.code.grimp_graph import build, place_of_syntax_error
folders, externals, without = json.loads(sys.argv[1])
try:
    graph = build(folders, externals=externals, without_type_checking=without)
    found = sorted([a, b] for a in graph.modules for b in graph.find_modules_directly_imported_by(a))
    print(json.dumps([sorted(graph.modules), found]))
except Exception as wrong:
    print(json.dumps(place_of_syntax_error(wrong) or str(wrong)))
"""


def built(folders: dict[str, list[Path]], externals: bool = False, without: bool = False) -> Any:
    """Modules and edges, from a process of its own: grimp's settings are changed there."""
    asked = json.dumps(
        [{name: [str(x) for x in places] for name, places in folders.items()}, externals, without]
    )
    done = subprocess.run(
        [sys.executable, "-c", CALL, asked], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def written(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / (
            name.replace("__init__", "init").replace("__", "/").replace("init", "__init__") + ".py"
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_packages_of_any_name_from_any_folder(tmp_path: Path) -> None:
    trap = f"open({str(tmp_path / 'ran')!r}, 'w')\n"
    one = written(tmp_path / "x/json", __init__=trap, a="import json.b\nimport click\n", b="")
    two = written(tmp_path / "y/click", __init__=trap + "import json.a\n")
    modules, edges = built({"json": [one], "click": [two]})
    assert modules == ["click", "json", "json.a", "json.b"]
    assert edges == [["click", "json.a"], ["json.a", "click"], ["json.a", "json.b"]]
    assert not (tmp_path / "ran").exists()


def test_a_namespace_package_in_several_folders_and_below_another(tmp_path: Path) -> None:
    one, two = (
        written(tmp_path / n / "ns", **{f"{n}____init__": "", f"{n}__m": ""})
        for n in ("one", "two")
    )
    (one / "one/m.py").write_text("import ns.two.m\n")
    assert built({"ns": [one, two]})[1] == [["ns.one.m", "ns.two.m"]]
    assert built({"ns.one": [one / "one"], "ns.two": [two / "two"]})[1] == [
        ["ns.one.m", "ns.two.m"]
    ]
    finder = KnownFolders({"ns": ["a", "b"], "p": ["a"]})
    assert finder.determine_package_directory("p", None) == "a"
    with pytest.raises(ValueError, match="several folders"):
        finder.determine_package_directory("ns", None)


def test_what_counts_and_what_does_not_parse(tmp_path: Path) -> None:
    text = "import json\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import p.b\n"
    folder = written(tmp_path / "p", __init__="", a=text, b="")
    assert built({"p": [folder]})[1] == [["p.a", "p.b"]]
    assert built({"p": [folder]}, without=True)[1] == []
    assert built({"p": [folder]}, externals=True, without=True)[1] == [
        ["p.a", "json"],
        ["p.a", "typing"],
    ]
    (folder / "b.py").write_text("\n\ndef f(:\n")
    assert built({"p": [folder]}) == [str(folder / "b.py"), 3]
    assert place_of_syntax_error(ValueError("x")) is None
