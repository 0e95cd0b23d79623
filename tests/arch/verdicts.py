"""Verdicts for the tests of what is made from them."""

from __future__ import annotations

from hypothesis import strategies as st

from kl_hooks.arch.layer_check import Verdict
from kl_hooks.model.manifest import Layer, Manifest, Violation
from kl_hooks.model.problem import Problem

RULES = Manifest(
    ".kl/architecture.yaml",
    (
        Layer("core", ("c/",), (), 9, "ADR-0004"),
        Layer("infra", ("i/",), ("core",), 12),
        Layer("web", ("w/",), (), 15),
    ),
)
UNREAD = Problem("c/bad.py", 14, 9, "can't be parsed: invalid syntax.")


def broken(
    path: str = "c/order.py", line: int = 3, source: str = "core", target: str = "web"
) -> Violation:
    """An import that is forbidden."""
    return Violation(
        path,
        line,
        path.removesuffix(".py").replace("/", "."),
        "w.page",
        source,
        target,
        "from w import page",
        "import",
        ".kl/architecture.yaml:9",
        "ADR-0004",
        "pass it in",
    )


def verdict(
    *found: Violation, accepted: tuple[Violation, ...] = (), problems: tuple[Problem, ...] = ()
) -> Verdict:
    """A verdict on the working tree."""
    return Verdict(
        RULES,
        found,
        problems,
        (),
        7,
        "worktree",
        accepted=accepted,
        baseline=".kl/baseline.json",
        titles={"ADR-0004": "Domain stays pure"},
    )


TEXTS = st.text(max_size=20) | st.text(alphabet='%:,\r\n"#`<>;|]&\\ \u202e\udc80', max_size=12)
"""Text with whatever some format takes for a sign of its own."""
VERDICTS = st.builds(
    verdict,
    st.builds(
        lambda text, line, target: broken(line=line, target=target)._replace(
            path=text.replace("\0", "") or "x",
            statement=text,
            suggested_fix=text,
        ),
        TEXTS,
        st.integers(1, 10**6),
        st.sampled_from(["web", "infra"]),
    ),
    accepted=st.lists(st.builds(broken, st.just("c/price.py"), st.integers(1, 9)), max_size=2).map(
        tuple
    ),
    problems=st.lists(
        st.builds(Problem, st.just("c/a.py"), st.integers(0, 9), st.integers(0, 9), TEXTS),
        max_size=2,
    ).map(tuple),
)
