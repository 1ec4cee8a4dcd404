"""The pages of names: flags and signals, actions and routes, proofs and templates, words of closed lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from docs.generator.markdown import code, codes, page, table
from sweeprules.cli.facts import RELEASE
from sweeprules.cli.template_shapes import handoff_names
from sweeprules.engine.catalogue import Catalogue
from sweeprules.engine.evaluate.actions import causes
from sweeprules.engine.facts import NEW_STATE, Reason
from sweeprules.engine.language.ast import Act, Policy, Raise, Rule
from sweeprules.engine.language.consequences import action_kinds

Data = Mapping[str, Any]
CLASSES = {
    "free": "reading, and writing reports",
    "own-pending": "own jobs that never started",
    "standing": "covered by a standing directive, and logged",
    "approval": "a person says yes first",
}


def flags_page(catalogue: Catalogue, data: Data, policy: Policy) -> str:
    """Flags with the rules that raise them and what an exemption may do, and signals."""
    intro = (
        "What a rule may raise with `{flag: NAME}`. One that only the tool raises is marked *builtin*; one that only\n"
        "an exemption raises (its `as`) *exempt*. A site adds flags of its own under `flags:`.\n\n"
        "*Raised by* names the shipped rules. Where it says *later*, no collector of this release reads the\n"
        "facts for it and no rule raises the flag: to explain, replace or exempt it has no effect yet."
    )
    return page("Flags and signals", intro, _flags(catalogue, data, policy), _signals(data))


def _raisers(policy: Policy) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for rule in sorted(policy.rules.values(), key=lambda rule: rule.id):
        for flag in dict.fromkeys(one.flag for one in rule.then if isinstance(one, Raise)):
            found.setdefault(flag, []).append(rule.id)
    return found


def _raised_by(name: str, marks: list[str], raisers: Mapping[str, list[str]], catalogue: Catalogue) -> str:
    if name in raisers:
        return codes(raisers[name])
    if "builtin" in marks:
        return "the tool"
    if "exempt" in marks:
        return "an exemption"
    return "*later*" if catalogue.flag_feeds[name] > RELEASE else "no rule"


def _flags(catalogue: Catalogue, data: Data, policy: Policy) -> Iterator[str]:
    rows = []
    raisers = _raisers(policy)
    for name, one in catalogue.flags.items():
        body = data["flags"][name]
        marks = [mark for mark in ("builtin", "exempt") if body.get(mark)]
        about = codes(one.subjects) + (f" (by rules about {codes(body['through'])})" if body.get("through") else "")
        more = "".join(f", {severity} when {when}" for severity, when in body.get("severity_when", {}).items())
        rows.append(
            (
                code(name) + "".join(f" *{mark}*" for mark in marks),
                about,
                one.severity + more,
                "yes" if one.exemptible else "no",
                codes(sorted(one.explains)),
                _raised_by(name, marks, raisers, catalogue),
                one.why,
            )
        )
    yield from table(("Flag", "Raised on", "Severity", "Exemptible", "Explains", "Raised by", "Meaning"), rows)


def _signals(data: Data) -> Iterator[str]:
    yield "## Signals"
    yield ""
    yield "Given with `{signal: NAME}` in a rule about a step, counted with `at_least`. A site adds its own under"
    yield "`signals:`."
    yield ""
    yield from table(("Signal", "Meaning"), ((code(name), body["why"]) for name, body in data["signals"].items()))


def actions_page(catalogue: Catalogue, data: Data, policy: Policy) -> str:
    """Actions with class, arguments, proofs and templates; proofs; which flags lead where."""
    intro = (
        "What a rule may ask for with `{action: NAME, args: {...}}`. All arguments listed must be given. The tool\n"
        "carries none of them out: it writes a document for people. A proof must be true, from a source of its own,\n"
        "and as fresh as its age says; else the document is BLOCKED. A site may add actions of class free under\n"
        "`actions:`. A rule about steps or a run asks for the actions of its job.\n\n"
        "Where several rules ask for one action on one subject, it is handed over once and their arguments are put\n"
        "together: lists are joined; texts that differ are listed, `one, other`, unless the action is destructive;\n"
        "of anything else two values that differ are unknown (`conflict`), which blocks the action. `validate` warns\n"
        "with SR022 where a rule of the site does that to a shipped one."
    )
    routes = (_asked(policy), _planned(data, policy))
    return page("Actions, proofs and routes", intro, _classes(), _actions(catalogue, data), _proofs(data), *routes)


def _classes() -> Iterator[str]:
    yield from table(("Class", "Who may act"), ((code(name), text) for name, text in CLASSES.items()))


def _actions(catalogue: Catalogue, data: Data) -> Iterator[str]:
    yield "## Actions"
    yield ""
    rows = (
        (
            code(name),
            codes(catalogue.kinds[kind].subject for kind in action_kinds(catalogue, catalogue.actions[name])) or "any",
            body["class"],
            {True: "yes", False: "no"}.get(body["destructive"], str(body["destructive"])),
            codes(body["args"]),
            codes(body["proofs"]) + _proofs_for(body),
            codes(body["templates"], "a line in the report"),
        )
        for name, body in data["actions"].items()
    )
    yield from table(("Action", "About", "Class", "Destructive", "Arguments", "Proofs", "Templates"), rows)


def _proofs_for(body: Data) -> str:
    return "".join(f"; {_case(one)}: {codes(one['proofs'])}" for one in body.get("proofs_for", ()))


def _case(one: Data) -> str:
    return ", ".join(
        f"{key.replace('_', ' ')} {'/'.join(value) if isinstance(value, list) else value}"
        for key, value in one.items()
        if key != "proofs"
    )


def _proofs(data: Data) -> Iterator[str]:
    yield "## Proofs"
    yield ""
    yield from table(
        ("Proof", "Age", "Source", "Meaning"),
        ((code(name), _age(body), body["source"], body["why"]) for name, body in data["proofs"].items()),
    )


def _age(body: Data) -> str:
    return ", ".join((str(body["age"]), *(f"{when} {age}" for when, age in body.get("age_when", {}).items())))


def _asked(policy: Policy) -> Iterator[str]:
    """What the rules of the policy ask for, each with the flags that it raises or is asked for by."""
    yield "## Which actions the shipped rules ask for"
    yield ""
    yield "Where a shipped rule asks for an action already, a rule of yours has only to raise the flag. A route in"
    yield "`routes:` then chooses the template: `when` with `template`, or `otherwise` with a template or `blocked`."
    yield "The first that holds is taken; an unknown one is passed over."
    yield ""
    rows = (
        (code(act.action), code(rule.id), rule.on, codes(sorted(causes(policy.rules, rule))))
        for act, rule in sorted(_acts(policy), key=lambda one: (one[0].action, one[1].id))
    )
    yield from table(("Action", "Asked for by", "On", "Flags behind it"), rows)


def _acts(policy: Policy) -> Iterator[tuple[Act, Rule]]:
    for rule in policy.rules.values():
        yield from ((one, rule) for one in rule.then if isinstance(one, Act))


def _planned(data: Data, policy: Policy) -> Iterator[str]:
    """What the catalogue leads to and no rule of the policy asks for."""
    yield "## Which actions a flag leads to later"
    yield ""
    yield "What the catalogue plans and no shipped rule asks for in this release. A site may write these rules itself."
    yield ""
    routing = data["routing"]
    there = {(flag, act.action) for act, rule in _acts(policy) for flag in causes(policy.rules, rule)}
    rows = [
        (code(flag), codes(missing))
        for flag, actions in routing["by_flag"].items()
        if (missing := [action for action in actions if (flag, action) not in there])
    ]
    yield from table(("Flag", "Actions"), rows)
    asked = {act.action for act, _ in _acts(policy)}
    by_fact = [
        (code(name), one["subject"], one["when"]) for name, one in routing["by_fact"].items() if name not in asked
    ]
    if by_fact:
        yield from table(("Action without a flag", "About", "When"), by_fact)


def templates_page(catalogue: Catalogue, data: Data) -> str:
    """Handoff templates, and what a template can read."""
    intro = (
        "A template is a Jinja2 file `templates/handoffs/NAME.md.j2` of the site or the shipped policy. Undefined\n"
        "names fail. Most extend `handoffs/_generic.md.j2` and fill its blocks `title`, `steps` and `done`."
    )
    rows = (
        (code(n), codes(body["subject"]), body["for"], "; ".join(body["destructive_steps"]), body["done_signal"])
        for n, body in data["templates"].items()
    )
    head = ("Template", "About", "For", "Destructive steps", "Done when")
    return page("Handoff templates", intro, table(head, rows), _context(catalogue))


def _context(catalogue: Catalogue) -> Iterator[str]:
    yield "## What a template can read"
    yield ""
    shapes = handoff_names(catalogue, next(iter(catalogue.templates)))
    yield from table(("Name", "Holds"), ((code(name), _held(name, shape)) for name, shape in shapes.items()))


def _held(name: str, shape: Any) -> str:
    if name == "facts":
        return "facts of the subject by name, as texts: `facts.name`; a dotted one is `facts['log.path']`"
    if isinstance(shape, list):
        inner = shape[0]
        return "a list" + (f"; each has {codes(inner)}" if inner else " of texts")
    return "a text"


def enums_page(data: Data) -> str:
    """Words of closed lists, and reasons for being unknown."""
    intro = (
        "Words that a fact or a key may have. In rules `unknown` is never one of them: an unknown fact is tested with\n"
        "`unknown: true`."
    )
    return page("Words", intro, _enums(data), _reasons(), _states(data))


def _enums(data: Data) -> Iterator[str]:
    yield from table(("List", "Words"), ((code(name), _words(words)) for name, words in data["enums"].items()))


def _words(words: Any) -> str:
    if isinstance(words, list):
        return codes(words)
    return "; ".join(f"{key}: {codes(some)}" for key, some in words.items())


def _reasons() -> Iterator[str]:
    yield "## Reasons for being unknown"
    yield ""
    yield "What a rule test writes in `{unknown: REASON}`, and `at_least` in `ignoring`."
    yield ""
    yield from table(("Reason", "Meaning"), ((code(one), REASONS[one]) for one in Reason))
    yield f"A scheduler's word that is new to the tool is `{NEW_STATE}WORD`."
    yield ""


REASONS = {
    Reason.NOT_READ: "nobody asked for it, or nothing reads it yet",
    Reason.READ_FAILED: "the command or file was tried and failed",
    Reason.CUT: "only a part was read, and the answer may be in the rest",
    Reason.MALFORMED: "it was read, and is not what it should be",
    Reason.NAN: "the number is NaN or infinite",
    Reason.WARMING_UP: "there are too few points or trials yet",
    Reason.FIRST_SIGHT: "it needs an earlier sweep, and this is the first one",
    Reason.STALE_SOURCE: "the source is older than it may be",
    Reason.DISAGREE: "two sources say different things",
    Reason.VANISHED: "the subject was there, and no source shows it now",
    Reason.NO_EXPORT: "the site names no file that would say it",
    Reason.CALC: "an operand is unknown, or the division is by zero",
    Reason.CONFLICT: "two rules set it to different values",
    Reason.SUSPENDED: "the job is suspended, so that its silence says nothing",
    Reason.NO_LOG_BY_DESIGN: "its output goes where nobody can read it",
}


def _states(data: Data) -> Iterator[str]:
    yield "## State words of Slurm"
    yield ""
    yield from table(("Slurm", "Means"), ((code(name), _state(body)) for name, body in data["slurm_states"].items()))


def _state(body: Any) -> str:
    if not isinstance(body, Mapping):
        return code(body)
    return ", ".join(f"{key}" if value is True else f"{key} {_coded(value)}" for key, value in body.items())


def _coded(value: Any) -> str:
    return codes(value) if isinstance(value, list) else code(value)
