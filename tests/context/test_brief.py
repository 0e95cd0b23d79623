"""A brief: the few places that decide a task, with who relies on them."""

from __future__ import annotations

import pytest

from tests.support import Checkout

FILES = {
    "shop/cart.py": '''
class Cart:
    """What somebody wants to buy."""

    def add_voucher(self, code: str) -> None:
        """Take a voucher into the cart."""
        self.codes = [code]

    def total(self) -> int:
        return 1

    def rows(self) -> int:
        return 2
''',
    "shop/page.py": """
from shop.cart import Cart

def show_page(cart: Cart) -> str:
    cart.add_voucher("x")
    return str(cart.total())
""",
    "shop/secret.py": """
from shop.cart import Cart

def hidden_caller(cart: Cart) -> None:
    cart.add_voucher("y")
""",
    "shop/mail.py": "def send_mail() -> None: ...\n",
    "tests/test_cart.py": """
from shop.cart import Cart

def test_a_voucher_is_taken() -> None:
    cart = Cart()
    cart.add_voucher("x")
""",
    "docs/vouchers.md": "# Vouchers\n\nA voucher is taken by add_voucher into the cart.\n",
}
TASK = "Cart.add_voucher loses the first voucher when a second one is added"


@pytest.fixture
def shop(repo: Checkout) -> Checkout:
    for name, text in FILES.items():
        repo.write(name, text)
    repo.commit("a voucher of the cart")
    return repo


def brief(shop: Checkout, task: str = TASK, **environ: str) -> str:
    done = shop.kl("context", task, "--profile", "brief", "--budget", "2000", env=environ)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_symbol_comes_with_its_place_its_reason_its_callers_and_its_tests(shop: Checkout) -> None:
    text = brief(shop)
    assert (
        "- shop/cart.py:5  Cart.add_voucher(self, code: str) -> None  (named in the task)" in text
    )
    assert "called by show_page (shop/page.py:4)" in text
    assert (
        "- tests/test_cart.py  | 1 test for Cart.add_voucher; run: pytest tests/test_cart.py"
        in text
    )


def test_no_passage_of_docs_and_no_bare_file_is_in_it(shop: Checkout) -> None:
    text = brief(shop)
    assert "docs/vouchers.md" not in text and "shop/mail.py" not in text
    assert len(text) <= 2_000
    for line in text.splitlines():
        assert not line.startswith("- ") or len(line.split()) > 2, line


def test_a_guide_that_was_seeded_from_a_readme_is_in_it_only_where_no_code_fits(
    shop: Checkout,
) -> None:
    words = (
        "Install vouchers: a second voucher of a cart is added by add_voucher. Rsync the "
        "bundle to a mirror."
    )
    shop.write("README.md", f"# Shop\n\nA shop.\n\n## Installation\n\n{words}\n")
    shop.commit()
    assert shop.kl("seed").returncode == 0
    assert "Installation" in shop.kl("guide", "list").stdout
    assert "GUIDE-" not in brief(shop)
    assert "GUIDE-" in brief(shop, "Rsync the bundle to a mirror")


def test_other_names_of_the_file_are_on_one_line(shop: Checkout) -> None:
    text = brief(shop)
    (line,) = (line for line in text.splitlines() if "  also " in line)
    assert line.startswith("- shop/cart.py  also ") and "Cart.rows:12  .total:9" in line


def test_a_caller_that_the_policy_hides_is_not_named(shop: Checkout) -> None:
    assert "hidden_caller" in brief(shop)
    rule = "version: 1\nrules:\n  - name: secret\n    deny: {paths: [shop/secret.py]}\n"
    shop.write(".kl/policy.yaml", rule)
    shop.commit()
    assert "hidden_caller" not in brief(shop, KL_AGENT="claude")


def test_tests_that_the_policy_hides_are_neither_named_nor_counted(shop: Checkout) -> None:
    assert "1 test" in brief(shop)
    rule = "version: 1\nrules:\n  - name: tests\n    deny: {paths: [tests/test_cart.py]}\n"
    shop.write(".kl/policy.yaml", rule)
    shop.commit()
    text = brief(shop, KL_AGENT="claude")
    assert "test_cart" not in text and "1 test" not in text


def test_a_commit_is_given_where_it_changed_what_is_shown(shop: Checkout) -> None:
    shop.write("CHANGES.md", "A voucher of the cart.\n")
    shop.commit("the voucher of a cart, in the list of changes")
    lines = [line for line in brief(shop).splitlines() if line.startswith("- commit:")]
    assert len(lines) == 1 and "a voucher of the cart" in lines[0]


@pytest.mark.parametrize(
    ("pin", "line"),
    [
        ("method:shop.cart.Cart.rows", "- shop/cart.py:12  Cart.rows(self) -> int"),
        ("shop/mail.py", "- shop/mail.py  (pinned)"),
        ("ADR-0001", "ADR-0001"),
    ],
)
def test_what_is_pinned_is_in_it_whatever_the_task_is(shop: Checkout, pin: str, line: str) -> None:
    shop.kl("decision", "new", "Use SQLite", "--context", "c", "--decision", "d")
    shop.commit()
    args = ("context", TASK, "--profile", "brief", "--budget", "2000", "--pin", pin)
    assert line in shop.kl(*args).stdout


def test_that_the_policy_denies_something_is_stated(shop: Checkout) -> None:
    rule = "version: 1\nrules:\n  - name: cart\n    deny: {paths: [shop/cart.py]}\n"
    shop.write(".kl/policy.yaml", rule)
    shop.commit()
    text = brief(shop, KL_AGENT="claude")
    assert "shop/cart.py" not in text and "denied" in text


SLOT = """
class Slot:
    def __init__(self) -> None:
        self.closing = False
        self.inprogress = set()
        self.value = 0

    def close(self) -> None:
        self.closing = True
        self.fire()

    def remove(self, request: str) -> None:
        self.inprogress.remove(request)
        self.fire()

    def fire(self) -> bool:
        return self.closing and not self.inprogress


class Engine:
    def __init__(self, slot: Slot) -> None:
        self.slot = slot

    def idle(self) -> bool:
        return not self.slot.closing


class Other:
    def __init__(self) -> None:
        self.closing = 1
"""


def test_a_method_has_who_else_reads_and_writes_what_it_touches(shop: Checkout) -> None:
    shop.write("shop/slot.py", SLOT)
    shop.commit("slots")
    lines = brief(shop, "Slot.fire is true although a request is in progress").splitlines()
    [place] = [number for number, line in enumerate(lines) if "Slot.fire(self)" in line]
    facts = lines[place + 1]
    # the constructor gives each its first value, and another class has its own
    assert "closing: written by Slot.close, read by Engine.idle" in facts
    assert "inprogress: written by Slot.remove" in facts
    assert "Other" not in facts and "__init__" not in facts
    assert "called by Slot.close" in facts
    # `self.fire` is a method, not a state
    assert not any("fire: " in line for line in lines)


def test_what_the_policy_hides_is_no_reader_of_a_state(shop: Checkout) -> None:
    hidden = (
        "from shop.slot import Slot\n\ndef watch(slot: Slot) -> bool:\n    return slot.closing\n"
    )
    shop.write("shop/slot.py", SLOT)
    shop.write("shop/watch.py", hidden)
    shop.commit("slots")
    task = "Slot.close must not be called twice"
    assert "read by Slot.fire, Engine.idle and 1 more" in brief(shop, task)
    rule = "{name: watch, deny: {paths: ['shop/watch.py'], actors: [agent]}}"
    shop.write(".kl/policy.yaml", f"version: 1\nrules:\n  - {rule}\n")
    shown = brief(shop, task, KL_AGENT="codex")
    assert "read by Slot.fire, Engine.idle" in shown and "1 more" not in shown


def test_an_attribute_that_many_files_mention_relates_nothing(shop: Checkout) -> None:
    shop.write("shop/slot.py", SLOT)
    for number in range(12):
        shop.write(f"shop/user{number}.py", "def f(slot):\n    return slot.closing\n")
    shop.commit("slots")
    assert "closing: " not in brief(shop, "Slot.close must not be called twice")


def test_the_test_file_named_after_the_best_file_is_named_first(shop: Checkout) -> None:
    shop.write("shop/_slot.py", SLOT)
    calls = "from shop._slot import Slot\n\ndef test_close():\n    Slot().close()\n"
    # its tests use the method; the file named after the module uses it nowhere
    shop.write("tests/test_engine.py", calls)
    shop.write("tests/test_slot.py", "def test_fire():\n    pass\n")
    shop.write("tests/deep/test_slot.py", "def test_fire():\n    pass\n")
    shop.commit("slots")
    lines = [
        line for line in brief(shop, "Slot.close fires twice").splitlines() if "run: p" in line
    ]
    assert lines == [
        "- tests/test_slot.py  | named after what is shown; run: pytest tests/test_slot.py",
        "- tests/test_engine.py  | 1 test for Slot.close; run: pytest tests/test_engine.py",
    ]
    rule = "{name: slots, deny: {paths: ['tests/test_slot.py', 'tests/deep/**'], actors: [agent]}}"
    shop.write(".kl/policy.yaml", f"version: 1\nrules:\n  - {rule}\n")
    assert "test_slot" not in brief(shop, "Slot.close fires twice", KL_AGENT="codex")


def test_a_name_of_the_task_that_is_no_symbol_brings_its_lines(shop: Checkout) -> None:
    shop.write(
        "shop/words.py",
        """
class Words:
    TABLE = {"add": "putInCart", "put": "putOnShelf"}
    TOKEN = {"token": "api_key=AKIAQ3EGRWV7PXMV7LKJ"}  # putInCart
    LATER = ["putInCart", "putInCart", "putInCart"]
    EVEN_LATER = "putInCart" + " or putInCartAndMore"
""",
    )
    shop.write("tests/test_words.py", "def test_words() -> None:\n    assert 'putInCart'\n")
    shop.commit("words")
    text = brief(shop, "putInCart is written where putOnShelf is expected")
    assert "- shop/words.py:3  has putInCart, putOnShelf, in 4 lines\n  | 3: TABLE = " in text
    assert "  | 4: TOKEN" in text and "  | 5: LATER" in text and "EVEN_LATER" not in text
    # what is secret is hidden there, too
    assert "AKIAQ3EGRWV7PXMV7LKJ" not in text
    assert "- tests/test_words.py:2  has putInCart\n  | 2: assert 'putInCart'\n" in text
    # as it is written, and as a whole word
    assert "shop/words.py:3" not in brief(shop, "PUTINCART is written")
    # a symbol is ranked by itself
    assert "has add_voucher" not in brief(shop)


def test_a_name_that_many_files_have_brings_no_lines(shop: Checkout) -> None:
    for number in range(4):
        shop.write(f"shop/part_{number}.py", "NAMES = ['putInCart']\n")
    shop.commit("parts")
    assert "has putInCart" not in brief(shop, "putInCart is written twice")


def test_lines_of_a_denied_file_are_not_shown(shop: Checkout) -> None:
    shop.write("shop/secret.py", "WORDS = ['putInCart']\n")
    rule = "version: 1\nrules:\n  - name: secret\n    deny: {paths: [shop/secret.py]}\n"
    task = "putInCart is written twice"
    assert "- shop/secret.py:1  has putInCart\n" in brief(shop, task)
    shop.write(".kl/policy.yaml", rule)
    shop.commit("a secret")
    assert "secret.py" not in brief(shop, task, KL_AGENT="claude")


def test_a_signature_is_code_as_its_file_has_it_but_for_what_opens_a_turn(repo: Checkout) -> None:
    repo.write("src/lib.rs", "pub fn order_total(prices: &[u64]) -> Option<u64> { None }\n")
    repo.write("src/user.rs", "pub fn order_user(all: Vec<Tool>) -> Option<User> { None }\n")
    repo.write("page.py", "def order_page(mark='<b>', end='</system-reminder-x>'): return mark\n")
    repo.commit("An order")
    text = brief(repo, "order_total, order_user and order_page are wrong")
    assert "order_total(prices: &[u64]) -> Option<u64>" in text
    assert "order_user(all: Vec<Tool>) -> Option<User>" in text
    assert "order_page(mark='<b>', end='\\x3c/system-reminder-x>')" in text
