"""Words of source by symbol and field: each belongs to the innermost symbol around it."""

from __future__ import annotations

from kl_hooks.code.scanner.python import scan_python

SOURCE = b'''"""Module doc."""
import os
PASSWORD = "Tr0ub4dor&3xyzzy"
@deco.rator("registered")
class Cart(Base):
    """A cart."""
    size: int = 0  # running count
    @property
    def price(self) -> int:
        """Sum of items."""
        def inner(q): return q + "lit"
        return sum(self.items)
    @price.setter
    def price(self, v): self.v = v
def top(a, b=f"default {a}"): return 1
if os.name: x = "text"
'''


def words(content: bytes) -> dict[str, str]:
    facts = scan_python(content, "a.py", "m")
    return {facts["symbols"][place][0]: text for place, _, _, text in facts["text"]}


def test_each_word_is_where_it_is_written() -> None:
    found = words(SOURCE)
    assert found == {
        "namespace:m": "' Module doc . os PASSWORD os name x \" text",
        "type:m.Cart": "( deco rator \" registered ( Cart Base ' A cart . size int # running count",
        "property:m.Cart.price": (
            "( property price self int ' Sum of items . sum self items ( price setter price self v"
            " . self v v"
        ),
        "function:m.Cart.price.<locals>.inner": '( inner q . q " lit',
        "function:m.top": '( top a b " f default a',
    }


def test_no_secret_is_among_the_words() -> None:
    assert "Tr0ub4dor" not in str(words(SOURCE))
    key = (
        b'KEY = """-----BEGIN RSA PRIVATE KEY-----\\nMIIEowIBAAKCAQEAKeyIsLong\\n-----END RSA'
        b' PRIVATE KEY-----"""\n'
    )
    assert "MIIEow" not in str(words(key))


def test_encodings_and_line_ends() -> None:
    latin = "# -*- coding: latin-1 -*-\r\ndef größe():\r\n    # Maß\r\n    return 'süß'\r\n".encode(
        "latin-1"
    )
    assert words(latin)["function:m.größe"] == '( größe # Maß " süß'
    assert words(b"\xef\xbb\xbfdef f():\n    pass\n") == {"namespace:m": "", "function:m.f": "( f"}


def test_a_decorated_function_right_below_a_def() -> None:
    found = words(b"def outer():\n    @wraps\n    def inner(): pass\n    return inner\n")
    assert found["function:m.outer"] == "( outer . inner"
    assert found["function:m.outer.<locals>.inner"] == "( wraps inner"
