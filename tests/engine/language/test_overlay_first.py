"""What a site puts before the shipped lines of a decision or a route, without repeating them."""

from __future__ import annotations

import pytest

from sweeprules.engine.language.ast import Policy
from tests.engine.language.loading import load, problems

SHIPPED = """\
decide:
  bucket:
    - {when: {name: {prefix: rl__}}, is: rl}
    - {otherwise: catch-all}
routes:
  diagnose: [{otherwise: failure-diagnosis}]
rules:
  - {id: r.failed, on: job, when: {state: FAILED}, then: {flag: failure}}
"""


def with_site(*sites: str) -> Policy:
    return load({"rules/shipped.yaml": SHIPPED}, *({"site/ours.yaml": site} for site in sites))


def told(site: str) -> list[str]:
    return problems({"rules/shipped.yaml": SHIPPED}, {"site/ours.yaml": site})


def test_lines_of_a_site_stand_before_the_shipped_ones() -> None:
    policy = with_site("decide: {bucket: {first: [{when: {name: {prefix: ppo__}}, is: rl}]}}\n")
    choices = policy.decide["bucket"]
    assert [(choice.value, choice.mark.file) for choice in choices] == [
        ("rl", "site/ours.yaml"), ("rl", "rules/shipped.yaml"), ("catch-all", "rules/shipped.yaml"),
    ]  # fmt: skip


def test_a_list_still_takes_the_place_of_the_shipped_one() -> None:
    policy = with_site("decide: {bucket: [{otherwise: rl}]}\n")
    assert [choice.value for choice in policy.decide["bucket"]] == ["rl"]


def test_a_line_that_hides_the_shipped_ones_is_refused() -> None:
    found = told("decide: {bucket: {first: [{otherwise: rl}]}}\n")
    assert found and all("otherwise" in one for one in found)


def test_routes_are_put_first_too() -> None:
    site = "routes: {diagnose: {first: [{when: {bucket: rl}, template: failure-diagnosis}]}}\n"
    routes = with_site(site).routes["diagnose"]
    assert [route.mark.file for route in routes] == ["site/ours.yaml", "rules/shipped.yaml"]


@pytest.mark.parametrize(
    ("site", "message"),
    [
        (
            "decide: {bukcet: {first: [{when: {name: x}, is: rl}]}}\n",
            "site/ours.yaml:1:10: there is nothing under decide: bukcet to stand first in (did you mean bucket?)",
        ),
        ("decide: {bucket: {fist: []}}\n", "site/ours.yaml:1:18: missing here: the key `first`"),
        ("decide: {bucket: {first: []}}\n", "site/ours.yaml:1:26: this list is empty (it needs at least one entry)"),
        (
            "routes: {report: {first: [{otherwise: blocked, say: x}]}}\n",
            "site/ours.yaml:1:10: there is nothing under routes",
        ),
    ],
)
def test_what_can_stand_first_nowhere_is_a_mistake_at_its_place(site: str, message: str) -> None:
    assert any(one.startswith(message) for one in told(site)), told(site)
