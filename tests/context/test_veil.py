"""The veil: no interface prints words of what the policy hides, wherever in an answer they are."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.context import veil as veil_module
from kl_hooks.context.policy import NO_RULE, load_policy
from kl_hooks.context.veil import HiddenKnowledge, HiddenNames, Veil, _Hidden
from kl_hooks.evidence.assertions import add_claim
from kl_hooks.model.package import Candidate
from kl_hooks.records.sync import sync
from kl_hooks.records.write import create_record
from tests.context.making import steady
from tests.support import Checkout

SALARY = "Bob earns ninety thousand pounds"


def veil(*texts: str, path: str = "", place: str = "", shown: Iterable[str] = ()) -> Veil:
    return Veil([_Hidden("MEM-1", texts, path, place)], lambda: shown)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        (SALARY, "withheld"),
        (f"He said: {SALARY}.", "He said: withheld."),
        ("BOB—earns ninety, (thousand) a year", "withheld) a year"),
        (
            "of Bob earns ninety thousand, of which thousand pounds",
            "of withheld, of which thousand pounds",
        ),
        # any four words in a row are hidden; three of them may mean something else
        ("earns ninety thousand pounds", "withheld"),
        ("Bob earns ninety or thousand pounds", "Bob earns ninety or thousand pounds"),
        (f"{SALARY}. {SALARY}!", "withheld. withheld!"),
        (f"{SALARY} {SALARY}", "withheld withheld"),
        ("", ""),
        ("bob", "bob"),
    ],
)
def test_four_words_in_a_row_of_a_hidden_text_are_withheld(text: str, printed: str) -> None:
    cover = veil(SALARY)
    assert cover.text(text) == printed
    assert cover.found == ({"MEM-1"} if printed != text else set())


def test_of_a_shorter_text_all_of_it_is_withheld_but_one_word_alone_is_none() -> None:
    cover = veil("Bob left", "confidential", "one two three")
    assert cover.text("Then Bob left.") == "Then withheld."
    assert cover.text("Bob, confidential") == "Bob, confidential"
    assert cover.text("one two, two three, one two three") == "one two, two three, withheld"
    assert cover.text("one two three four five") == "withheld four five"


def test_lines_are_withheld_one_by_one_and_joined() -> None:
    cover = veil("alpha beta\ngamma delta\nepsilon")
    assert cover.text("alpha beta") == cover.text("Gamma delta") == "withheld"
    assert cover.text("beta gamma") == "beta gamma"
    assert cover.text("beta\n  gamma delta epsilon") == "withheld"


def test_a_text_that_a_record_has_in_several_places_is_taken_apart_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    split = list[str]()
    words_of = veil_module._words
    monkeypatch.setattr(veil_module, "_words", lambda text: split.append(text) or words_of(text))
    veil(SALARY, f"# Salaries\n\n{SALARY}\n", SALARY)
    assert split.count(SALARY) == 1 and len(split) == len(set(split))


def test_a_node_is_withheld_without_its_sort_too() -> None:
    cover = veil("file:src/pay.py")
    assert cover.text("see src/pay.py") == "see withheld"
    assert cover.text("see file:src/pay.py") == "see withheld"


def test_what_may_be_seen_elsewhere_is_no_secret() -> None:
    cover = veil(
        "round half up", "ninety thousand", shown=["We round, half up.", "ninety", "thousand"]
    )
    assert cover.text("round half up") == "round half up"
    assert cover.text("ninety thousand") == "withheld", "each text is one of its own"
    assert cover.found == {"MEM-1"}
    assert veil("and half", shown=["a band halfway"]).text("and half") == "withheld"


WORDS = st.sampled_from(["bob", "earns", "ninety", "thousand", "pounds", "a", "the", "year"])


@steady
@given(st.lists(WORDS, min_size=2, max_size=8), st.lists(WORDS, max_size=14))
def test_no_four_words_in_a_row_are_left_and_the_others_stay(
    hidden: list[str], printed: list[str]
) -> None:
    text = veil(" ".join(hidden)).text(" ".join(printed))
    left = [part.split() for part in text.split("withheld")]
    size = min(4, len(hidden))
    windows = {tuple(hidden[at : at + size]) for at in range(len(hidden) - size + 1)}
    for words in left:
        assert not any(tuple(words[at : at + size]) in windows for at in range(len(words)))
    if not any(tuple(printed[at : at + size]) in windows for at in range(len(printed))):
        assert text == " ".join(printed)


# Paths


FOLDER = ".kl/knowledge/decisions"


def test_the_file_of_a_hidden_record_is_named_after_its_title() -> None:
    path = f"{FOLDER}/ADR-0007-bob-earns.md"
    redacted = veil("x", path=path, place=f"{FOLDER}/ADR-0007")
    assert redacted.text(f"see {path}.") == f"see {FOLDER}/ADR-0007"
    assert redacted.text(f"[text](./{path}) and `{path}`") == (
        f"[text]({FOLDER}/ADR-0007) and `{FOLDER}/ADR-0007`"
    )
    assert redacted.found == {"MEM-1"}
    # its name alone, without the ID in it
    assert redacted.text("the page bob-earns") == "the page withheld"
    assert veil("x", path="plans/MAX").text("see plans/MAX...") == "see withheld"
    denied = veil("x", path=path)
    assert denied.text(f"see {path}") == "see withheld"
    assert denied.text("ADR-0007-bob-earns") == "withheld"
    other = f"see {FOLDER}/ADR-0008-ann.md and a/{path}x"
    assert (
        denied.text(other)
        == "see .kl/knowledge/decisions/ADR-0008-ann.md and a/.kl/knowledge/decisions/withheld.mdx"
    )


# Values


def test_plain_values_are_covered_in_depth_and_their_keys_too() -> None:
    cover = veil(SALARY)
    answer = {
        "items": [{"note": f"{SALARY}!", "number": 7, SALARY: None}, (SALARY, True)],
        3: SALARY,
    }
    assert cover.plain(answer) == {
        "items": [{"note": "withheld!", "number": 7, "withheld": None}, ["withheld", True]],
        3: "withheld",
    }
    assert cover.found == {"MEM-1"}


def test_of_a_hidden_record_its_id_kind_and_status_are_left() -> None:
    record = {
        "schema": "kl.record/1",
        "id": "MEM-1",
        "kind": "memory",
        "status": "approved",
        "title": "Bob",
        "path": "a/MEM-1-bob.md",
        "tags": ["secret"],
        "fields": {"pattern": "Bob"},
    }
    cover = veil("x", path="a/MEM-1-bob.md", place="a/MEM-1")
    left = {
        "schema": "kl.record/1",
        "id": "MEM-1",
        "kind": "memory",
        "status": "approved",
        "title": "withheld",
        "path": "a/MEM-1",
        "tags": [],
        "fields": {},
    }
    assert cover.plain([record]) == [left]
    assert cover.found == {"MEM-1"}
    other = {**record, "id": "MEM-2", "path": "a/MEM-2.md"}
    assert cover.plain(other) == other
    assert cover.plain({"id": "MEM-1", "title": "Bob"}) == {"id": "MEM-1", "title": "Bob"}
    assert cover.plain({"schema": "kl.record/1", "id": "MEM-1"}) == {
        "schema": "kl.record/1",
        "id": "MEM-1",
        "title": "withheld",
        "path": "a/MEM-1",
        "tags": [],
        "fields": {},
    }


def test_an_item_of_a_package_keeps_what_it_is_and_where() -> None:
    item = Candidate(
        "MEM-2",
        "memory",
        SALARY,
        SALARY,
        SALARY,
        "a/b.md",
        3,
        proof=SALARY,
        beyond=SALARY,
        reasons=(SALARY, "by a person"),
    )
    shown = veil(SALARY).candidate(item)
    assert (shown.id, shown.kind, shown.path, shown.line) == ("MEM-2", "memory", "a/b.md", 3)
    texts = (shown.title, shown.text, shown.summary, shown.proof, shown.beyond, *shown.reasons)
    assert texts == (*["withheld"] * 6, "by a person")


# Names of denied files in sentences


MODULES = {
    "shop": "src/shop/__init__.py",
    "shop.cart": "src/shop/cart.py",
    "shop.pay": "src/shop/pay.py",
    "shop.pay.open": "src/shop/pay/open.py",
    "wages": "wages.py",
    "conftest": "conftest.py",
    "my pay": "src/my pay.py",
    "my pay.py": "src/my pay.py.py",
}
DENIED = (
    "src/shop/pay.py",
    "wages.py",
    "src/my pay.py",
    "src/my pay.py.py",
    "tests/test_pay.py",
    "setup.cfg",
    "old/secret.py",
    "gone.py",
)


def denying() -> HiddenNames:
    return HiddenNames(lambda path: "salaries" if path in DENIED else "", MODULES)


@pytest.mark.parametrize(
    ("sentence", "printed", "file"),
    [
        ("src/shop/pay.py changed", "withheld changed", "src/shop/pay.py"),
        ("./tests/test_pay.py:3: ended", "withheld:3: ended", "tests/test_pay.py"),
        ("`tests/test_pay.py::TestPay::test_sum[a b]` failed", "`withheld` failed", None),
        ("tests/test_pay.py::test_sum ran", "withheld ran", "tests/test_pay.py"),
        ("tests/test_pay.py[x] ran", "withheld ran", "tests/test_pay.py"),
        ("src/my pay.py::f changed", "withheld changed", "src/my pay.py"),
        ("src/my pay.py.py changed", "withheld changed", "src/my pay.py.py"),
        ("setup.cfg changed", "withheld changed", "setup.cfg"),
        ("shop.pay.total.<locals>.add changed", "withheld changed", "src/shop/pay.py"),
        ("wages.total changed", "withheld changed", "wages.py"),
        ("old.secret.total changed", "withheld changed", "old/secret.py"),
        ("gone.total changed", "withheld changed", "gone.py"),
    ],
)
def test_the_name_of_a_denied_file_is_withheld_however_it_is_written(
    sentence: str, printed: str, file: str | None
) -> None:
    names = denying()
    assert names.text(sentence) == printed
    assert names.found == {file or "tests/test_pay.py": "salaries"}


def test_the_longest_module_of_a_name_decides_and_its_package_counts_for_the_others() -> None:
    denied = "src/shop/__init__.py"
    names = HiddenNames(lambda path: "salaries" if path == denied else "", MODULES)
    assert names.text("shop.total shop.cart.total") == "withheld shop.cart.total"
    assert names.found == {denied: "salaries"}


@pytest.mark.parametrize(
    "sentence",
    [
        "src/shop/cart.py changed",
        "tests/test_cart.py::test_sum[wages] failed",
        "shop.cart.total and shop.total changed",
        "shop.pay.open.total changed",
        "docs/old/secret.md, e.g. of version 1.2.3",
        "",
    ],
)
def test_names_that_no_rule_denies_stay(sentence: str) -> None:
    names = denying()
    assert names.text(sentence) == sentence
    assert names.found == {}
    assert HiddenNames(lambda path: "", MODULES).text(f"{sentence} wages.py") == (
        f"{sentence} wages.py"
    )


@pytest.mark.parametrize(
    ("sentence", "printed"),
    [
        ("src/shop/cart.py and src/shop/pay.py", "src/shop/cart.py and withheld"),
        ("src/unknown.py changed", "withheld changed"),
        ("conftest.py changed", "withheld changed"),
        ("shop.pay.total and shop.cart.total", "withheld and shop.cart.total"),
        # no files of the repository: words, and places of kl and of this machine
        ("e.g. see README.md", "e.g. see README.md"),
        ("os.path.join of /usr/lib/os.py", "os.path.join of /usr/lib/os.py"),
        ("see .kl/policy.yaml", "see .kl/policy.yaml"),
    ],
)
def test_where_only_what_is_listed_may_be_seen_words_with_a_dot_are_no_files(
    sentence: str, printed: str
) -> None:
    allowed = ("src/shop/cart.py",)
    names = HiddenNames(lambda path: "" if path in allowed else NO_RULE, MODULES)
    assert names.text(sentence) == printed
    assert set(names.found.values()) == ({NO_RULE} if printed != sentence else set())


# What a policy hides of a repository


POLICY = """version: 1
rules:
  - name: people
    {effect}: {{tags: [people], actors: [agent]}}
  - name: plans
    {effect}: {{paths: ["docs/plans/**", "src/pay.py"], actors: [agent]}}
"""


@pytest.fixture
def office(repo: Checkout, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    """A repository with words in each place where hidden knowledge can be."""
    repo.write("docs/plans/next.md", "# Zeta title\n\nZeta page text one two\n")
    (repo.root / "docs/plans/latin.md").write_bytes(b"# Old\n\nZeta caf\xe9 words here\n")
    repo.write("docs/open.md", "# Public page\n\nZeta public words here\n")
    repo.write("src/pay.py", "def charge() -> int:\n    return 1\n")
    repo.commit("files")
    ws = repo.workspace()
    hidden = {
        "title": "Zeta record title",
        "context": "Zeta context words",
        "decision": "Zeta shown words",
        "status": "accepted",
        "expires": "2099-03-04",
        "tags": ["people"],
    }
    decision = create_record(ws, ws.kinds["decision"], hidden, body="Zeta body words here now\n")
    memory = {"title": "m", "pattern": "Zeta memory words", "tags": ["people"]}
    create_record(ws, ws.kinds["memory"], memory)
    create_record(ws, ws.kinds["memory"], {"title": "n", "pattern": "Zeta shown words"})
    add_claim(ws, "Zeta claim on a file", "file:src/pay.py#charge", None)
    add_claim(ws, "Zeta claim on a record", f"adr:{decision.id}", None)
    add_claim(ws, "Zeta claim on its file", f"file:{decision.path}", None)
    add_claim(ws, "Zeta claim on anything", "file:docs/open.md", None)
    repo.edit(
        "INSERT INTO claim_archive (id, text, about, author, made_at, expires, archived_at) SELECT"
        " id, text, about, author, made_at, expires, '2026-01-01T00:00:00.000000Z' FROM claim"
        " WHERE text = 'Zeta claim on a record'",
        "DELETE FROM claim WHERE text = 'Zeta claim on a record'",
    )
    repo.commit("records")
    for name, tags in (("hidden", ("--collection", "people")), ("open", ())):
        path = repo.root.parent / f"{name}-report.md"
        path.write_text(f"# Zeta {name} title\n\nZeta {name} text words\n", "utf-8")
        done = repo.kl("document", "add", str(path), *tags)
        assert done.returncode == 0, done.stderr
    monkeypatch.setenv("KL_AGENT", "bot")
    for proposal in (("--decision", "Zeta proposed words"), ("--context", "Zeta other words")):
        done = repo.kl("decision", "edit", decision.id, *proposal)
        assert done.returncode == 0, done.stderr
    return repo


def hidden_knowledge(office: Checkout, policy: str) -> HiddenKnowledge:
    office.write(".kl/policy.yaml", policy)
    ws = office.workspace()
    loaded = load_policy(ws)
    assert loaded is not None
    return HiddenKnowledge(ws, loaded)


HIDDEN = (
    "Zeta record title",
    "Zeta context words",
    "Zeta body words here",
    "Zeta memory words",
    "Zeta proposed words",
    "Zeta other words",
    "Zeta title",
    "Zeta page text one",
    "Zeta hidden text words",
    "hidden-report.md",
    "Zeta claim on a file",
    "Zeta claim on a record",
    "Zeta claim on its file",
)
SHOWN = (
    "Zeta public words here",
    "Zeta open text words",
    "Zeta claim on anything",
    # a hidden record has it too
    "Zeta shown words",
    # records have days, which are no text of theirs
    "ends on 2099-03-04",
)


@pytest.mark.parametrize("effect", ["deny", "redact"])
def test_the_texts_of_everything_that_is_hidden_are_withheld(office: Checkout, effect: str) -> None:
    office_hidden = hidden_knowledge(office, POLICY.format(effect=effect))
    assert office_hidden.withheld() == {}
    cover = office_hidden.veil
    assert {text: cover.text(text) for text in SHOWN} == {text: text for text in SHOWN}
    assert office_hidden.withheld() == {}
    left = {text: cover.text(text) for text in HIDDEN}
    assert left == dict.fromkeys(left, "withheld")
    withheld = office_hidden.withheld()
    names = {name.partition(":")[0].partition("-")[0] for name, _ in withheld}
    assert names == {"ADR", "MEM", "DOC", "claim", "file"}
    assert set(withheld.values()) == {(effect, "people"), (effect, "plans")}
    assert all(part == "" for _, part in withheld)
    # what is left of the path of something hidden; the place of a page is its name
    decision = next(office.root.glob(f"{FOLDER}/ADR-*zeta*")).relative_to(office.root).as_posix()
    paths = {decision: f"{FOLDER}/ADR-0001", "docs/plans/next.md": "docs/plans/next.md"}
    expected = dict.fromkeys(paths, "withheld") if effect == "deny" else paths
    assert {path: cover.text(path) for path in paths} == expected
    record = {"schema": "kl.record/1", "id": "ADR-0001", "title": "Zeta"}
    assert cover.plain(record)["path"] == ("" if effect == "deny" else f"{FOLDER}/ADR-0001")


@pytest.mark.parametrize("kind", ["page", "document"])
def test_a_rule_may_name_a_page_of_docs_by_either_kind(office: Checkout, kind: str) -> None:
    rules = f"version: 1\nrules:\n  - name: x\n    deny: {{kinds: [{kind}], paths: [docs/plans]}}\n"
    cover = hidden_knowledge(office, rules).veil
    assert cover.text("Zeta page text one") == "withheld"
    assert cover.text("Zeta context words") == "Zeta context words"
    # bytes that are no text hide none of the others
    assert cover.text("Zeta caf\N{REPLACEMENT CHARACTER} words here") == "withheld"


@pytest.mark.parametrize("kinds", ["", "kinds: [symbol], ", "kinds: [file], "])
@pytest.mark.share(3)
def test_names_of_denied_files_are_withheld_and_those_of_redacted_ones_stay(
    office: Checkout, kinds: str
) -> None:
    rule = "version: 1\nrules:\n  - name: pay\n    {}: {{" + kinds + "paths: [src/pay.py]}}\n"
    sentence = "src.pay.charge of src/pay.py changed"
    redacting = hidden_knowledge(office, rule.format("redact"))
    assert redacting.names.text(sentence) == sentence and redacting.withheld() == {}
    denying = hidden_knowledge(office, rule.format("deny"))
    assert denying.names.text(sentence) == "withheld of withheld changed"
    assert denying.withheld() == {("file:src/pay.py", ""): ("deny", "pay")}


def test_a_claim_is_seen_as_what_it_is_about(repo: Checkout) -> None:
    ws = repo.workspace()
    values = {"title": "t", "context": "c", "decision": "d", "status": "accepted"}
    decision = create_record(ws, ws.kinds["decision"], values)
    sync(ws)
    knowledge = hidden_knowledge(repo, POLICY.format(effect="deny"))

    def shown(about: str) -> list[tuple[str, str, str]]:
        items = knowledge.claim_candidates("c1", about)
        return [(item.id, item.kind, item.path) for item in items]

    record = (decision.id, "decision", decision.path)
    assert shown("file:src/pay.py#charge") == [("claim:c1", "claim", "src/pay.py")]
    assert shown("test:src/pay.py::test_x") == [("claim:c1", "claim", "src/pay.py")]
    assert shown(f"adr:{decision.id}") == [("claim:c1", "claim", ""), record]
    assert shown(decision.id) == [("claim:c1", "claim", ""), record]
    assert shown(f"file:{decision.path}#x") == [("claim:c1", "claim", decision.path), record]
    assert knowledge.veil.text("any words") == "any words", "nothing is stored yet"
