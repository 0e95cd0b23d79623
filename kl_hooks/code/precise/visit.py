"""One walk over a libcst tree: what it defines, with the names that libcst's scopes give, and what it imports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import libcst as cst

from kl_hooks.code.precise.imports import dynamic_row, import_rows
from kl_hooks.code.precise.names import Found, local_names
from kl_hooks.code.precise.text import Source


@dataclass(frozen=True, slots=True)
class _Scope:
    kind: str
    name: str
    """Qualified, as CPython has it."""
    seen: str
    """As libcst has it for what stands inside: it puts a class declared `global` under its function."""
    receiver: str = ""


class Visitor(cst.CSTVisitor):
    """Fills `found` and `imports`; runs over one module."""

    def __init__(self, source: Source, scopes: Any) -> None:
        super().__init__()
        self.source, self.scopes = source, scopes
        self.found: list[Found] = []
        self.imports: list[list[Any]] = []
        self._around = [_Scope("module", "", "")]
        self._checking = 0

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self.found.append(Found("class", self._name(node, node), node, self._around[-1].kind == "class"))

    def visit_ClassDef_body(self, node: cst.ClassDef) -> None:
        self._around.append(_Scope("class", self._name(node, node), self._prefix(node.name.value)))

    def leave_ClassDef_body(self, node: cst.ClassDef) -> None:
        self._around.pop()

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        in_class = self._around[-1].kind == "class"
        self.found.append(Found("function", self._name(node, node), node, in_class))

    def visit_FunctionDef_body(self, node: cst.FunctionDef) -> None:
        first = [*node.params.posonly_params, *node.params.params][:1]
        in_class = self._around[-1].kind == "class"
        receiver = first[0].name.value if first and in_class else ""
        scope = _Scope("function", self._name(node, node), self._prefix(node.name.value), receiver)
        self._around.append(scope)

    def leave_FunctionDef_body(self, node: cst.FunctionDef) -> None:
        self._around.pop()

    def visit_Assign(self, node: cst.Assign) -> None:
        if self._around[-1].kind != "function":
            self._fields(node, [target.target for target in node.targets])

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        scope, target = self._around[-1], node.target
        if scope.kind != "function":
            self._fields(node, [target])
            return
        owner = target.value if isinstance(target, cst.Attribute) else None
        if isinstance(owner, cst.Name) and scope.receiver == owner.value and isinstance(target, cst.Attribute):
            self.found.append(Found("field", f"{self._around[-2].name}.{target.attr.value}", node, False))

    def visit_TypeAlias(self, node: cst.TypeAlias) -> None:
        self.found.append(Found("alias", self._name(node.name, node), node, False))

    def _name(self, node: Any, around: Any) -> str:
        (name, *_) = local_names(self.scopes, node, around)
        scope = self._around[-1]
        inside = scope.seen and name.startswith(f"{scope.seen}.")
        return scope.name + name.removeprefix(scope.seen) if inside else name

    def _prefix(self, name: str) -> str:
        scope = self._around[-1]
        dots = ".<locals>." if scope.kind == "function" else "."
        return f"{scope.seen}{dots}{name}" if scope.seen else name

    def _fields(self, node: Any, targets: list[Any]) -> None:
        for target in targets:
            inner = [one.value for one in target.elements] if isinstance(target, cst.Tuple | cst.List) else [target]
            for one in inner:
                if isinstance(one, cst.Name):
                    self.found.append(Found("field", self._name(one, one), node, False))

    def visit_If_body(self, node: cst.If) -> None:
        self._checking += _type_checking(node.test) == 1

    def leave_If_body(self, node: cst.If) -> None:
        self._checking -= _type_checking(node.test) == 1

    def visit_If_orelse(self, node: cst.If) -> None:
        self._checking += _type_checking(node.test) == -1

    def leave_If_orelse(self, node: cst.If) -> None:
        self._checking -= _type_checking(node.test) == -1

    def visit_Import(self, node: cst.Import) -> None:
        self.imports += import_rows(node, self._how(), self.source)

    def visit_ImportFrom(self, node: cst.ImportFrom) -> None:
        self.imports += import_rows(node, self._how(), self.source)

    def visit_Call(self, node: cst.Call) -> None:
        self.imports += dynamic_row(node, self.source)

    def _how(self) -> str:
        if self._checking:
            return "type-checking import"
        return "lazy import" if any(scope.kind == "function" for scope in self._around) else "import"


def _type_checking(test: cst.BaseExpression) -> int:
    """1 for `TYPE_CHECKING` and `typing.TYPE_CHECKING`, -1 for `not` of it, else 0."""
    sign = 1
    while isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        sign, test = -sign, test.expression
    if isinstance(test, cst.Attribute):
        test = test.attr
    return sign if isinstance(test, cst.Name) and test.value == "TYPE_CHECKING" else 0
