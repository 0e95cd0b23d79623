"""`kl context` as people and pipes see it, on a real repository."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.forked_pytest import AT_START
from tests.support import Checkout, Done

SOURCES = {
    "src/shop/__init__.py": "",
    "src/shop/price.py": (
        '"""Prices."""\n\n\ndef round_total(cents: int) -> int:\n    """Round a checkout total half'
        ' up."""\n    return cents\n\n\nclass Cart:\n    def checkout(self) -> int:\n        return'
        " round_total(3)\n"
    ),
    "src/shop/mail.py": 'def send_mail(to: str) -> None:\n    """Send the größte letter …"""\n',
}


def git(root: Path, *args: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", *identity, *args], cwd=root, check=True, capture_output=True)


@pytest.fixture
def repo(tmp_path: Path, home: Path) -> Path:
    """A small repository with `.kl/`, two modules and one commit."""
    root = tmp_path / "repo"
    (root / ".kl").mkdir(parents=True)
    (root / ".kl" / "README").write_text("kl\n", encoding="utf-8")
    for path, text in SOURCES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    git(root, "init", "-q")
    git(root, "add", "src/shop/mail.py")
    git(root, "commit", "-q", "-m", "Send letters")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Round checkout totals half up")
    return root


def kl(
    repo: Path, *args: str, code: int = 0, command: tuple[str, ...] = ("context",), **environ: str
) -> Done:
    """`kl context …` (or another command); in a process of its own where a variable only takes
    effect there.
    """
    used = Checkout(repo)
    call = used.kl_process if any(name.startswith(AT_START) for name in environ) else used.kl
    ran = call(*command, *args, env=environ)
    assert ran.returncode == code, ran.stderr
    return ran


@pytest.mark.requirement("A8", "E1", "E3")
def test_a_task_gives_a_cited_package(repo: Path) -> None:
    brief = kl(repo, "fix rounding in `round_total`").stdout
    assert brief.startswith("[Pipeline Knowledge] cp-")
    assert "\n- src/shop/price.py:4  round_total(cents: int) -> int" in brief
    assert "send_mail" not in brief
    out = kl(repo, "fix rounding in `round_total`", "--budget", "6000").stdout
    assert out.startswith("[Pipeline Knowledge] cp-")
    assert " of 6,000 characters   " in out.splitlines()[0]
    assert "- src/shop/price.py\n  round_total:4\n  | def round_total(cents: int) -> int:\n" in out
    assert "send_mail" not in out


@pytest.mark.slow
@pytest.mark.parametrize("budget", ["256", "300", "400", "64tok", "120tok", "6000"])
@pytest.mark.parametrize("shape", ["text", "markdown", "xml"])
@pytest.mark.requirement("E6")
@pytest.mark.share(4)
def test_what_is_printed_never_exceeds_the_budget(repo: Path, budget: str, shape: str) -> None:
    out = kl(repo, "checkout total cart mail", "--budget", budget, "--format", shape).stdout
    limit = int(budget.removesuffix("tok")) * (4 if budget.endswith("tok") else 1)
    assert 0 < len(out) <= limit


@pytest.mark.slow
def test_the_same_task_gives_the_same_bytes(repo: Path) -> None:
    now = ("--now", "2026-11-21T12:00:00Z")
    for shape in ("text", "markdown", "xml", "json"):
        runs = {
            kl(repo, "round total", "--format", shape, *now, PYTHONHASHSEED=s).stdout
            for s in ("1", "99")
        }
        assert len(runs) == 1


@pytest.mark.requirement("E14")
def test_errors_of_a_command_and_of_a_tool_carry_the_trace_of_the_caller(repo: Path) -> None:
    trace = {"TRACEPARENT": f"00-{'ab' * 16}-{'cd' * 8}-01"}
    ran = kl(repo, "round", "--budget", "lots", code=2, **trace)
    assert ran.returncode == 2 and ran.stderr.rstrip().endswith(f"[trace {'ab' * 16}]")
    assert "[trace" not in kl(repo, "round", "--budget", "lots", code=2, TRACEPARENT="x").stderr
    given = json.dumps({"task": "round", "budget": "lots"})
    answer = json.loads(kl(repo, "context", given, command=("tool",), code=2, **trace).stdout)
    assert (answer["ok"], answer["trace_id"]) == (False, "ab" * 16)


@pytest.mark.requirement("E8")
def test_json_has_the_agreed_fields_and_no_markup(repo: Path) -> None:
    raw = kl(
        repo, "round_total", "--format", "json", TRACEPARENT=f"00-{'ab' * 16}-{'cd' * 8}-01"
    ).stdout
    shown = json.loads(raw)
    assert set(shown) == {
        "schema",
        "package_id",
        "request_id",
        "task",
        "trace_id",
        "created_at",
        "ttl_seconds",
        "budget",
        "items",
        "omitted",
        "coverage",
        "policy_decision_id",
        "characters",
        "searches",
        "quota",
    }
    assert (shown["schema"], shown["trace_id"], shown["ttl_seconds"]) == (
        "kl.package/4",
        "ab" * 16,
        1800,
    )
    assert set(shown["items"][0]) == {
        "id",
        "kind",
        "title",
        "form",
        "text",
        "tokens",
        "tier",
        "freshness",
        "authority",
        "path",
        "line",
        "score",
        "reasons",
        "pinned",
        "proof",
        "category",
    }
    assert "</" not in raw and "```" not in raw and raw.isascii()


def test_words_need_no_quotes_and_options_are_read_anywhere(repo: Path) -> None:
    now = ("--now", "2026-11-21")
    quoted = kl(repo, "round total", "--budget", "400", *now).stdout
    assert kl(repo, "--budget", "400", *now, "round", "total").stdout == quoted
    assert kl(repo, "round", "--budget", "400", "total", *now).stdout == quoted


@pytest.mark.requirement("E9")
def test_a_package_is_shown_and_questioned_by_its_id(repo: Path) -> None:
    first = kl(repo, "round_total").stdout
    package = first.split()[2]
    assert kl(repo, "show", package).stdout == first
    assert json.loads(kl(repo, "show", package, "--format", "json").stdout)["package_id"] == package
    printed = kl(repo, "why", "function:shop.price.round_total", package).stdout
    assert printed.startswith(f"in {package}, ") and "function:shop.price.round_total" in printed
    assert f"not in {package}: no retriever brought x." in kl(repo, "why", "x", package).stdout


def test_what_was_omitted_is_counted_in_the_package_and_listed_on_request(repo: Path) -> None:
    small = ("round_total", "--budget", "256")
    made = json.loads(kl(repo, *small, "--format", "json").stdout)
    assert sum(made["omitted"].values()) > 0
    listed = json.loads(kl(repo, "why", made["package_id"], "--format", "json").stdout)
    reasons = Counter(omission["reason"].partition(":")[0] for omission in listed["omitted"])
    assert reasons == made["omitted"]
    text = kl(repo, "why", made["package_id"]).stdout
    assert all(f"  {omission['id']}\n" in text for omission in listed["omitted"])
    first = listed["omitted"][0]
    why = kl(repo, "why", first["id"], made["package_id"]).stdout
    assert why == f"omitted from {made['package_id']}: {first['reason']}\n"


def test_show_and_why_can_be_tasks_too(repo: Path) -> None:
    wrong = kl(repo, "show", "the", "totals", code=2).stderr
    assert "If 'show the totals' is a task: kl context -- show the totals" in wrong
    assert kl(repo, "--", "show", "the", "totals").stdout.startswith("[Pipeline Knowledge] cp-")
    assert "needs [ID] PACKAGE" in kl(repo, "why", "x", code=2).stderr


def test_options_of_show_and_why_are_no_words_wherever_they_are(repo: Path) -> None:
    package = kl(repo, "round_total").stdout.split()[2]
    for words in (
        ("why", "--format", "json", "x", package),
        ("why", "x", "--format=json", package),
    ):
        assert json.loads(kl(repo, *words).stdout)["lines"]
    wrong = kl(repo, "why", "--format", "json", "it", "fails", code=2).stderr
    assert "If 'why it fails' is a task: kl context -- why it fails" in wrong


@pytest.mark.requirement("E15")
def test_explain_adds_scores_after_the_package(repo: Path) -> None:
    now = ("--now", "2026-11-21")
    plain = kl(repo, "round_total", *now).stdout
    explained = kl(repo, "round_total", "--explain", *now).stdout
    assert (
        explained.startswith(plain + "\n")
        and "  function:shop.price.round_total  [full]  " in explained
    )


def test_a_file_instead_of_stdout(repo: Path, tmp_path: Path) -> None:
    target = tmp_path / "context.md"
    ran = kl(repo, "round_total", "--format", "markdown", "-o", str(target))
    text = target.read_text(encoding="utf-8")
    assert ran.stdout == "" and text.startswith("# [Pipeline Knowledge] cp-")
    assert text.split()[3] in ran.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "the task is empty."),
        (("",), "the task is empty."),
        ((" ", "\n"), "the task is empty."),
        (("x", "--budget", "63tok"), "--budget must be at least 64 tokens."),
        (
            ("x", "--budget", "lots"),
            "--budget: takes characters (6000) or tokens (1500tok), not 'lots'.",
        ),
        (("x", "--now", "soon"), "--now: 'soon' is not a time. Try: 2027-01-31T12:00:00Z"),
        (("show", "cp-000000000000"), "no package of this id was made here."),
    ],
)
def test_a_usage_error_is_exit_2_with_a_reason_and_empty_stdout(
    repo: Path, args: tuple[str, ...], message: str
) -> None:
    ran = kl(repo, *args, code=2)
    assert message in ran.stderr and ran.stdout == ""


@pytest.mark.slow
def test_ascii_where_the_locale_has_nothing_else(repo: Path) -> None:
    args = ("send letter", "--budget", "6000", "--now", "2026-11-21")
    wide, narrow = (kl(repo, *args, LC_ALL=locale).stdout for locale in ("C.UTF-8", "C"))
    assert "größte" in wide
    assert narrow.isascii() and "gr??te" in narrow and len(narrow) == len(wide)


@pytest.mark.requirement("A6")
def test_a_task_that_fits_nothing_gets_a_note_and_exit_0(repo: Path) -> None:
    out = kl(repo, "zebra quantum weather").stdout
    assert "Nothing known here is close enough to this task." in out


def test_a_repository_without_kl_gets_the_command_to_set_it_up_and_no_file(repo: Path) -> None:
    (repo / ".kl" / "README").unlink()
    (repo / ".kl").rmdir()
    before = sorted(repo.rglob("*"))
    ran = kl(repo, "round_total", code=3)
    assert ran.stderr.endswith("kl is not set up here. Set it up with: kl init\n")
    assert sorted(repo.rglob("*")) == before


def test_help_names_the_options_and_the_commands(repo: Path) -> None:
    out = kl(repo, "--help").stdout
    assert "--budget" in out and "show" in out and "why" in out and "Example: kl context" in out


@pytest.mark.slow
@pytest.mark.requirement("A36")
@pytest.mark.skipif(sys.version_info < (3, 12), reason="recorded from CPython 3.12 on")
def test_tests_are_noted_at_the_code_they_use_and_are_items_where_they_fail(repo: Path) -> None:
    """From end to end: the test passes in one process and in two, then fails."""
    test = repo / "tests" / "test_price.py"
    test.parent.mkdir()
    test.write_text(
        "from shop.price import round_total\n\n\ndef test_halves():\n    assert round_total(3)"
        " == 3\n"
    )
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "Add a test")
    more = (
        "-p",
        "pytest_kl.plugin",
        "-p",
        "no:cacheprovider",
        "-o",
        "pythonpath=src",
        "tests",
        "--kl-symbols=on",
    )
    pytest_run = (sys.executable, "-m", "pytest", "-q", *more)
    kl(repo, *pytest_run, command=("run", "--"))
    kl(repo, *pytest_run, "-p", "xdist", "-n", "2", command=("run", "--"))
    kl(repo, "round_total", "--format", "json")
    out = kl(repo, "tests/test_price.py::test_halves", "--budget", "6000").stdout
    assert (
        "\n## evidence\n- [verified · current] test:tests/test_price.py::test_halves "
        " tests/test_price.py\n" in out
    )
    assert "\n  round_total:4 (executed by 1 test, passed, verified)\n  | def round_total(" in out
    assert "[guessed" not in out
    plain = kl(repo, "round_total", "--budget", "6000").stdout
    assert (
        "test:tests/" not in plain
        and "round_total:4 (executed by 1 test, passed, verified)" in plain
    )
    test.write_text(
        "from shop.price import round_total\n\n\ndef test_halves():\n    assert round_total(3)"
        " == 4\n"
    )
    assert (
        "(executed by 1 test, passed on older content)"
        in kl(repo, "round_total", "--budget", "6000").stdout
    )
    kl(repo, *pytest_run, command=("run", "--"), code=1)
    failing = kl(repo, "round_total halves", "--budget", "6000").stdout
    assert (
        failing.index("## failing test") < failing.index("## code") and "assert 3 == 4" in failing
    )
    assert "round_total:4 (executed by 1 test, 1 failed)" in failing
    assert "changed since" not in failing  # only the test itself did
    # a change of what the test rests on is stated at it, and comes before all other code
    source = repo / "src" / "shop" / "price.py"
    test.write_text(
        "from shop.price import round_total\n\n\ndef test_halves():\n    assert round_total(3)"
        " == 3\n"
    )
    kl(repo, *pytest_run, command=("run", "--"))
    source.write_text(source.read_text().replace("return cents", "return cents + 1"))
    kl(repo, *pytest_run, command=("run", "--"), code=1)
    failing = kl(repo, "the cart has wrong halves", "--budget", "6000").stdout
    assert "\n  | changed since it passed: shop.price.round_total\n" in failing
    assert (
        "\n## code\n- src/shop/price.py\n  round_total:4 " in failing
        or "- src/shop/price.py (" in failing
    )
    policy = repo / ".kl" / "policy.yaml"
    policy.write_text(
        "version: 1\nrules:\n  - name: hidden\n    deny: {paths: [src/shop/price.py]}\n"
    )
    assert "changed since" not in kl(repo, "the cart has wrong halves", "--budget", "6000").stdout


def test_a_pasted_failure_brings_the_code_that_the_test_calls_before_the_test(repo: Path) -> None:
    test = repo / "tests" / "test_cart.py"
    test.parent.mkdir()
    test.write_text(
        "from shop.price import Cart\n\n\ndef test_sum():\n    assert Cart().checkout() == 4\n"
    )
    pasted = (
        ">       assert Cart().checkout() == 4\nE       assert 3 == 4\n\ntests/test_cart.py:5:"
        " AssertionError\nFAILED tests/test_cart.py::test_sum - assert 3 == 4"
    )
    shown = kl(repo, pasted, "--budget", "6000").stdout.splitlines()
    lines = [line for line in shown if line.startswith("- ")]
    assert lines[:2] == ["- src/shop/price.py", "- tests/test_cart.py"]
    raised = (
        'Traceback:\n  File "/ci/build/src/shop/mail.py", line 2, in send_mail\nValueError: bad'
    )
    explained = kl(repo, raised, "--budget", "6000", "--explain").stdout
    assert "\n- src/shop/mail.py\n  send_mail:1" in explained
    assert "a frame of the traceback in the task" in explained


def decided(repo: Path, title: str) -> str:
    """An accepted decision about totals; its ID."""
    texts = ("--context", "Totals differ.", "--decision", f"{title}.", "--format", "json")
    made: str = json.loads(kl(repo, "new", title, *texts, command=("decision",)).stdout)["id"]
    kl(repo, "accept", made, command=("decision",))
    return made


@pytest.mark.slow
@pytest.mark.requirement("A4", "A5")
def test_the_weight_decides_how_much_is_retrieved(repo: Path) -> None:
    weights = {
        weight: kl(repo, "send_mail", "--weight", weight, "--budget", "6000").stdout
        for weight in ("none", "low", "default", "high")
    }
    assert (
        "Nothing was searched: the weight is none." in weights["none"]
        and "## code" not in weights["none"]
    )
    assert "send_mail:1" in weights["low"] and "send_mail:1" in weights["default"]
    (repo / "src/shop/post.py").write_text(
        "from shop.mail import send_mail\n\n\ndef deliver_all():\n    send_mail('a')\n"
    )
    assert "deliver_all:4" in kl(repo, "send_mail", "--weight", "high").stdout
    explained = kl(repo, "send_mail", "--weight", "high", "--explain").stdout
    assert "one link from a symbol near the task" in explained
    assert "one link from" not in kl(repo, "send_mail", "--explain").stdout


@pytest.mark.slow
@pytest.mark.requirement("A18", "A19", "E7")
def test_profiles_order_records_by_proof_and_a_large_record_hides_none(repo: Path) -> None:
    large = decided(repo, "Round totals half even " + "and write why " * 40)
    small = decided(repo, "Round checkout totals half up")
    shown = json.loads(
        kl(
            repo, "round totals", "--profile", "tier-first", "--format", "json", "--budget", "2000"
        ).stdout
    )
    items = {one["id"]: one for one in shown["items"]}
    assert items[small]["form"] == "full" and items[large]["form"] == "summary"
    assert items[large]["tier"] == "inferred" and large in items[large]["id"]
    again = json.loads(
        kl(
            repo, "round totals", "--profile", "tier-first", "--format", "json", "--budget", "2000"
        ).stdout
    )
    assert [one["id"] for one in again["items"]] == [one["id"] for one in shown["items"]]


@pytest.mark.slow
@pytest.mark.requirement("E2", "E4")
def test_pins_are_in_and_the_scope_bounds_code(repo: Path) -> None:
    decision = decided(repo, "Zebras are striped")
    out = kl(repo, "round_total", "--pin", decision, "--pin", "src/shop/mail.py").stdout
    assert f"] {decision}  " in out and "\n- src/shop/mail.py\n" in out and "round_total:4" in out
    assert decision not in kl(repo, "round_total").stdout
    narrow = kl(repo, "round_total send_mail", "--scope", "src/shop/mail.py").stdout
    assert "send_mail:1" in narrow and "round_total:4" not in narrow
    wrong = kl(repo, "x", "--pin", "ADR-9999", code=2).stderr
    assert "--pin: 'ADR-9999' is no record, symbol or source file here." in wrong
    few = json.loads(
        kl(repo, "round total send mail cart", "--max-sources", "1", "--format", "json").stdout
    )
    assert len([one for one in few["items"] if one["kind"] != "symbol"]) == 1


@pytest.mark.local_database
@pytest.mark.requirement("A17", "E12")
def test_a_source_that_fails_is_named_and_the_others_answer(repo: Path) -> None:
    kl(repo, "round_total")
    (database,) = (repo / ".git" / "kl").glob("kl.db")
    database.write_bytes(b"no database" * 1000)
    ran = kl(repo, "round_total")
    assert "price.py:4  round_total(" in ran.stdout and "\nNot searched: " in ran.stdout
    assert "failed" in ran.stderr


def test_a_file_that_the_task_names_is_first(repo: Path) -> None:
    out = kl(repo, "round totals as in src/shop/mail.py", "--budget", "600").stdout
    assert next(line for line in out.splitlines() if line.startswith("- ")) == "- src/shop/mail.py"


def test_why_takes_names_and_places_as_they_are_printed(repo: Path) -> None:
    package = kl(repo, "round_total of the Cart").stdout.split()[2]
    for name in (
        "round_total",
        "price.round_total",
        "src/shop/price.py:4",
        "function:shop.price.round_total",
    ):
        assert kl(repo, "why", name, package).stdout.startswith(f"in {package}, "), name
    assert kl(repo, "why", "src/shop/price.py", package).stdout.startswith(f"in {package}, ")
    assert "no retriever brought total." in kl(repo, "why", "total", package).stdout


def test_what_governs_the_code_of_the_task_is_in_a_small_package(repo: Path) -> None:
    texts = (
        "--context",
        "Mail was lost.",
        "--decision",
        "Send mail twice.",
        "--governs",
        "src/shop/mail.py",
    )
    made = json.loads(
        kl(
            repo, "new", "Mail is sent twice", *texts, "--format", "json", command=("decision",)
        ).stdout
    )["id"]
    kl(repo, "accept", made, command=("decision",))
    out = kl(repo, "change src/shop/mail.py", "--budget", "500").stdout
    assert f"] {made}" in out and "- src/shop/mail.py\n" in out


@pytest.mark.slow
def test_a_run_of_this_content_counts_before_a_newer_run_of_another(repo: Path) -> None:
    test = repo / "tests" / "test_price.py"
    test.parent.mkdir()
    passing = (
        "from shop.price import round_total\n\n\ndef test_halves():\n    assert round_total(3)"
        " == 3\n"
    )
    pytest_run = (
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "pytest_kl.plugin",
        "-p",
        "no:cacheprovider",
        "-o",
        "pythonpath=src",
        "tests",
        "--kl-symbols=off",
    )
    test.write_text(passing, encoding="utf-8")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "Add a test")
    kl(repo, *pytest_run, command=("run", "--"))
    test.write_text(passing.replace("== 3", "== 4"), encoding="utf-8")
    kl(repo, *pytest_run, command=("run", "--"), code=1)
    assert (
        "round_total:4 (1 of 1 test that uses it failed)"
        in kl(repo, "round_total", "--budget", "6000").stdout
    )
    assert "1 of 1 test that uses it failed" in kl(repo, "round_total").stdout
    test.write_text(passing, encoding="utf-8")
    shown = kl(repo, "round_total", "--budget", "6000").stdout
    assert "round_total:4 (1 test that uses it passed, inferred)" in shown


def test_a_report_is_read_from_stdin(repo: Path) -> None:
    raised = (
        'Traceback:\n  File "src/shop/mail.py", line 2, in send_mail\nValueError: bad\n'
        + "noise " * 100_000
    )
    ran = Checkout(repo).kl("context", "-", input=raised)
    assert ran.returncode == 0 and "\n- src/shop/mail.py:1  send_mail(" in ran.stdout
    assert "the task is empty." in Checkout(repo).kl("context", "-", input="").stderr


def test_neighbors_come_after_the_symbols_they_are_neighbors_of(repo: Path) -> None:
    source = "from shop.mail import send_mail\n\n\ndef aaa():\n    send_mail('a')\n"
    (repo / "src/shop/aaa.py").write_text(source, encoding="utf-8")
    out = kl(repo, "the größte letter", "--weight", "high").stdout
    assert "aaa:4" in out and out.index("- src/shop/mail.py") < out.index("- src/shop/aaa.py")
    assert (
        "send_mail:1" in kl(repo, "the größte letter", "--weight", "high", "--budget", "300").stdout
    )
