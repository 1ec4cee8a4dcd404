"""`{calc: TEXT}`: a small parser for arithmetic, which types and units are checked in."""

from __future__ import annotations

import re
from typing import NamedTuple

from sweeprules.engine.errors import Mark
from sweeprules.engine.language import quantities
from sweeprules.engine.language.ast import Arith, Calc, Const, FieldRef, ParamRef
from sweeprules.engine.language.literals import FREE_NUMBERS, PARAM_HINT
from sweeprules.engine.language.node import Node
from sweeprules.engine.language.paths import resolve
from sweeprules.engine.language.scope import Scope
from sweeprules.engine.language.shape import quote
from sweeprules.engine.language.types import ANY, DURATION, NUMBER, NUMBERS, QUANTITIES, Type, clash, worded

FUNCTIONS = ("min", "max", "abs", "round_half_up")
MAX_LENGTH = 400
MAX_NESTED = 20
_TOKEN = re.compile(
    r"\s*(?:(?P<duration>\d+(?:\.\d+)?[smhd]\b)|(?P<number>\d+(?:\.\d+)?)|(?P<param>\$\w+)"
    r"|(?P<field>\.\.?\w+(?:\.(?:(?<=lines\.)[\w-]+|\w+))*)|(?P<word>[A-Za-z_]\w*)|(?P<sign>[-+*/(),])|(?P<end>\Z))"
)
_Operand = Arith | Const | ParamRef | FieldRef


class _Token(NamedTuple):
    kind: str
    text: str
    mark: Mark


class _Term(NamedTuple):
    value: _Operand
    type: Type
    mark: Mark


class _WrongError(Exception):
    """Ends one calc after its mistake was reported."""


def calc(scope: Scope, node: Node) -> tuple[Calc, Type] | None:
    """The arithmetic tree of a calc text and its type; None after reporting what is wrong, with its column."""
    text = str(node.value)
    if len(text) > MAX_LENGTH:
        scope.report(node.mark, f"a calc of {len(text)} characters; at most {MAX_LENGTH} are read", "split the rule")
        return None
    try:
        term = _Parser(scope, _tokens(scope, node, text)).whole()
    except _WrongError:
        return None
    if not isinstance(term.value, Arith):
        scope.report(node.mark, f"nothing is calculated in {quote(text)}", f"write {text.strip()} without calc")
        return None
    return Calc(term.value, text), term.type


def _tokens(scope: Scope, node: Node, text: str) -> list[_Token]:
    found: list[_Token] = []
    at = 0
    while True:
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            start = at + len(text[at:]) - len(text[at:].lstrip())
            scope.report(_place(node, text, start), f"{quote(text[start])} can not stand in a calc")
            raise _WrongError
        kind = match.lastgroup
        found.append(_Token(kind, match.group(kind), _place(node, text, match.start(kind))))
        if kind == "end":
            return found
        at = match.end()


def _place(node: Node, text: str, offset: int) -> Mark:
    """The place of a character; only in a text that stands in one line as it is read can it be told."""
    if "\n" in text or node.source != text:
        return node.mark
    return Mark(node.mark.file, node.mark.line, node.mark.column + (1 if node.quoted else 0) + offset)


class _Parser:
    """Recursive descent: sum, product, sign, atom."""

    def __init__(self, scope: Scope, tokens: list[_Token]) -> None:
        self._scope, self._tokens = scope, tokens
        self._at = 0
        self._nested = 0

    def whole(self) -> _Term:
        """The whole text as one term."""
        term = self._sum()
        token = self._peek()
        if token.kind != "end":
            raise self._fail(token.mark, f"{quote(token.text)} is not expected here", "an operator is missing")
        return term

    def _sum(self) -> _Term:
        left = self._product()
        while self._peek().text in {"+", "-"} and self._peek().kind == "sign":
            sign = self._next()
            right = self._product()
            left = _Term(Arith(sign.text, (left.value, right.value)), self._added(sign, left, right), left.mark)
        return left

    def _product(self) -> _Term:
        left = self._signed()
        while self._peek().text in {"*", "/"}:
            sign = self._next()
            right = self._signed()
            left = _Term(Arith(sign.text, (left.value, right.value)), self._multiplied(sign, left, right), left.mark)
        return left

    def _signed(self) -> _Term:
        if self._peek().text != "-":
            return self._atom()
        sign = self._next()
        self._deeper(sign)
        term = self._signed()
        self._nested -= 1
        if term.type.base == "time":
            raise self._fail(term.mark, "a time has no negative")
        return _Term(Arith("neg", (term.value,)), term.type, sign.mark)

    def _atom(self) -> _Term:
        token = self._next()
        if token.kind == "number":
            return self._number(token)
        if token.kind == "duration":
            return self._duration(token)
        if token.kind == "param":
            return self._param(token)
        if token.kind == "field":
            return self._field(token)
        if token.kind == "word":
            return self._call(token)
        if token.text == "(":
            self._deeper(token)
            term = self._sum()
            self._nested -= 1
            self._expect(")")
            return term
        what = "the text ends" if token.kind == "end" else f"{quote(token.text)} stands"
        raise self._fail(token.mark, f"{what} where a value is expected", "a number, $param, .field or a function")

    def _number(self, token: _Token) -> _Term:
        value = float(token.text) if "." in token.text else int(token.text)
        if value not in FREE_NUMBERS:
            self._scope.report(token.mark, f"thresholds are params: {token.text} has no name", PARAM_HINT)
        return _Term(Const(value), NUMBER, token.mark)

    def _duration(self, token: _Token) -> _Term:
        value = quantities.duration(token.text)
        # One second, minute, hour or day turns a unit into another; anything else is a limit.
        if token.text[:-1] != "1":
            self._scope.report(token.mark, f"thresholds are params: {token.text} has no name", PARAM_HINT)
        return _Term(Const(value if value is not None else 0, token.text), DURATION, token.mark)

    def _param(self, token: _Token) -> _Term:
        name = token.text[1:]
        if name not in self._scope.names.params:
            if name in self._scope.names.lists:
                raise self._fail(token.mark, f"{token.text} is a list, which is no number")
            self._scope.unknown(token.mark, "param", name, self._scope.names.params)
            return _Term(ParamRef(name), ANY, token.mark)
        return _Term(ParamRef(name), self._quantity(self._scope.names.param_types[name], token), token.mark)

    def _field(self, token: _Token) -> _Term:
        text = token.text if token.text.startswith("..") else token.text[1:]
        found = resolve(self._scope, text, token.mark)
        if found is None:
            raise _WrongError
        return _Term(FieldRef(found.path), self._quantity(found.type, token), token.mark)

    def _quantity(self, one: Type, token: _Token) -> Type:
        if one.base not in QUANTITIES and one.base != "any":
            raise self._fail(token.mark, f"{token.text} is {worded(one)}; a number, duration, size or time is needed")
        return one

    def _call(self, token: _Token) -> _Term:
        if token.text not in FUNCTIONS:
            self._scope.unknown(token.mark, "function", token.text, FUNCTIONS)
            raise _WrongError
        self._expect("(")
        self._deeper(token)
        terms = [self._sum()]
        while self._peek().text == ",":
            self._next()
            terms.append(self._sum())
        self._nested -= 1
        self._expect(")")
        return self._called(token, terms)

    def _called(self, token: _Token, terms: list[_Term]) -> _Term:
        single = token.text in {"abs", "round_half_up"}
        if single != (len(terms) == 1):
            needs = "one value" if single else "two values or more"
            raise self._fail(token.mark, f"{token.text} takes {needs}, got {len(terms)}")
        result = terms[0].type
        for term in terms[1:]:
            self._same(term.mark, result, term.type)
            result = result if result.unit or result.base not in NUMBERS else term.type
        if single and result.base == "time":
            raise self._fail(terms[0].mark, f"{token.text} of a time has no meaning")
        return _Term(Arith(token.text, tuple(term.value for term in terms)), result, token.mark)

    def _added(self, sign: _Token, left: _Term, right: _Term) -> Type:
        bases = (left.type.base, right.type.base)
        if sign.text == "-" and bases == ("time", "time"):
            return DURATION
        if "time" in bases and "duration" in bases:
            if sign.text == "-" and bases[0] == "duration":
                raise self._fail(sign.mark, "a time can not be taken from a duration")
            return Type("time")
        if bases == ("time", "time"):
            raise self._fail(sign.mark, "two times can not be added", "their difference is a duration")
        self._same(sign.mark, left.type, right.type)
        return right.type if left.type.base == "any" or not left.type.unit else left.type

    def _multiplied(self, sign: _Token, left: _Term, right: _Term) -> Type:
        one, other = left.type, right.type
        if "any" in {one.base, other.base}:
            return ANY
        if "time" in {one.base, other.base}:
            raise self._fail(sign.mark, "a time can not be multiplied or divided", "take a difference of times first")
        found = _times(one, other) if sign.text == "*" else _over(one, other)
        if found is None:
            verb = "multiplied" if sign.text == "*" else "divided"
            raise self._fail(sign.mark, f"{worded(one)} can not be {verb} by {worded(other)}")
        return found

    def _same(self, mark: Mark, left: Type, right: Type) -> None:
        why = clash(left, right)
        if why:
            raise self._fail(mark, why.replace("compared", "combined"))

    def _deeper(self, token: _Token) -> None:
        self._nested += 1
        if self._nested > MAX_NESTED:
            raise self._fail(token.mark, f"nested more than {MAX_NESTED} levels deep")

    def _peek(self) -> _Token:
        return self._tokens[self._at]

    def _next(self) -> _Token:
        token = self._tokens[self._at]
        self._at += 1 if token.kind != "end" else 0
        return token

    def _expect(self, text: str) -> None:
        token = self._next()
        if token.text != text or token.kind == "end":
            raise self._fail(token.mark, f"`{text}` is missing here")

    def _fail(self, mark: Mark, message: str, hint: str = "") -> _WrongError:
        self._scope.report(mark, message, hint)
        return _WrongError()


def _times(one: Type, other: Type) -> Type | None:
    if one.base in NUMBERS and other.base in NUMBERS:
        return Type("number", one.unit or other.unit)
    if one.base in NUMBERS:
        return other
    return one if other.base in NUMBERS else None


def _over(one: Type, other: Type) -> Type | None:
    if one.base == other.base or (one.base in NUMBERS and other.base in NUMBERS):
        return Type("number", "" if one.unit == other.unit or one.base not in NUMBERS else one.unit)
    return one if other.base in NUMBERS else None
