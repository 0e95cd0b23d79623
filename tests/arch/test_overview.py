"""The picture: every arrow is in it, it fits, and it is plain ASCII where that is asked for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.arch.layer_check import Verdict
from kl_hooks.arch.overview import WIDTH, build_overview, overview_to_dict
from kl_hooks.model.manifest import Allowance, Layer, Manifest, Violation
from kl_hooks.model.symbol import Link

API, INFRA, DOMAIN = "api/http.py", "infra/db.py", "domain/order.py"
MODULES = {
    API: "api.http",
    INFRA: "infra.db",
    DOMAIN: "domain.order",
    "domain/price.py": "domain.price",
}
LAYERS = (
    Layer("domain", ("domain/",), (), 3),
    Layer("infra", ("infra/",), ("domain",), 6),
    Layer("api", ("api/",), ("domain", "infra", "util"), 9),
    Layer("util", ("util/",), (), 12),
)


def link(path: str, to: str, line: int = 1) -> Link:
    return Link(f"namespace:{MODULES[path]}", "imports", f"namespace:{to}", path, line, "import")


def broken(path: str, line: int, to: str, layer: str) -> Violation:
    return Violation(
        path, line, MODULES[path], to, "domain", layer, f"import {to}", "import", "m.yaml:3"
    )


LINKS = [
    link(API, "domain.order"),
    link(API, "domain.price", 2),
    link(API, "infra.db", 3),
    link(DOMAIN, "infra.db", 12),
    link("domain/price.py", "infra.db", 4),
    link(DOMAIN, "api.http", 3),
    link(INFRA, "api.http", 8),
]


def drawn(box: bool = False) -> list[str]:
    manifest = Manifest("m.yaml", LAYERS, exceptions=(Allowance("infra", "api"),))
    new = (broken(DOMAIN, 3, "api.http", "api"),)
    old = (
        broken(DOMAIN, 12, "infra.db", "infra"),
        broken("domain/price.py", 4, "infra.db", "infra"),
    )
    verdict = Verdict(manifest, new, (), (), 4, "worktree", accepted=old)
    return build_overview(manifest, LINKS, MODULES, verdict).picture(box)


def test_the_picture_in_ascii() -> None:
    assert drawn() == [
        "  +--------+",
        "  | util   | (no files)",
        "  +--------+",
        "  | api    | --> infra 1   domain 2",
        "  |        | ..> util",
        "  +--------+",
        "  | infra  | ..> domain",
        "  |        | -e> api 1 excepted",
        "  +--------+",
        "  | domain | -x> api 1 NEW  order.py:3",
        "  |        | -x> infra 2 baseline  order.py:12  price.py:4",
        "  +--------+",
        (
            "  legend  --> allowed, with the number of imports   ..> allowed, unused   -x>"
            " violation   -e> excepted"
        ),
        "",
        "  from    to      imports  allowed",
        "  api     infra         1  yes",
        "  api     domain        2  yes",
        "  infra   api           1  no: 1 excepted",
        "  domain  api           1  no: 1 new",
        "  domain  infra         2  no: 2 in the baseline",
        "  and 2 allowed, unused (..> above)",
        "",
        "4 layers, 4 files: 1 new violation, 2 in the baseline",
    ]


def test_with_boxes_it_states_the_same() -> None:
    signs = {
        "┌": "+",
        "┐": "+",
        "└": "+",
        "┘": "+",
        "├": "+",
        "┤": "+",
        "─x▶": "-x>",
        "─e▶": "-e>",
        "──▶": "-->",
        "··▷": "..>",
        "─": "-",
        "│": "|",
        "…": "...",
    }
    lines = "\n".join(drawn(box=True))
    assert not lines.isascii()
    for box, ascii_ in signs.items():
        lines = lines.replace(box, ascii_)
    assert lines.split("\n") == drawn()


NAMES = st.lists(
    st.text("abcdefgh_", min_size=1, max_size=60), min_size=1, max_size=20, unique=True
)


@given(NAMES, st.data())
def test_it_fits_and_every_arrow_is_there(names: list[str], data: st.DataObject) -> None:
    pairs = st.tuples(st.sampled_from(names), st.sampled_from(names)).filter(
        lambda pair: pair[0] != pair[1]
    )
    some = st.sets(pairs, max_size=60) if len(names) > 1 else st.just(set())
    allowed, used = data.draw(some), data.draw(some)
    layers = tuple(
        Layer(n, (f"{n}/",), tuple(sorted(b for a, b in allowed if a == n)), 1) for n in names
    )
    modules = {f"{name}/long_name_of_a_module_in_there.py": f"{name}.m" for name in names}
    links = [
        Link(
            f"namespace:{a}.m",
            "imports",
            f"namespace:{b}.m",
            f"{a}/long_name_of_a_module_in_there.py",
            1,
            "import",
        )
        for a, b in sorted(used)
    ]
    manifest = Manifest("m.yaml", layers)
    new = tuple(
        Violation(
            f"{a}/long_name_of_a_module_in_there.py", 1, f"{a}.m", f"{b}.m", a, b, "", "import", ""
        )
        for a, b in sorted(used - allowed)
    )
    seen = build_overview(manifest, links, modules, Verdict(manifest, new, (), (), 1, "worktree"))
    lines = seen.picture(box=False)
    assert all(len(line) <= WIDTH and line.isascii() for line in lines)
    assert sum(line.count("-x> ") for line in lines if "legend" not in line) == len(new)
    rows = overview_to_dict(seen)["arrows"]
    assert {(row["from"], row["to"]) for row in rows} == allowed | used
    assert sum(row["imports"] for row in rows) == len(used)
