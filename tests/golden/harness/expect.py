"""What a scenario says that a sweep must show, against what it showed. Knows the contract's JSON, nothing inside.

    exit: 3                      complete: false             rows: 4              sweep_flags: [..]
    clusters: {NAME: {status, queue, login, because: TEXT, flags: [..], actions: [..], not_flags: [..], calls: N,
                      sent: [PROGRAM, ..], at_most_calls: N}}
    jobs: {ID or CLUSTER:ID: {bucket, flavour, state, health, step, last_output_age_s, ...: as in the report;
           flags: [..], has_flags: [..], not_flags: [..], actions: [..], has_actions: [..], not_actions: [..],
           unknown: {field: reason}, facts: {name: value},
           messages: {FLAG: TEXT}, explained_by: {FLAG: [..]}, links: [IDS]}}
    no_jobs: [IDS]               anywhere: [FLAG, ..]     nowhere: [FLAG or ACTION, ..]
    handoffs: ["TEMPLATE JOB_OR_CLUSTER STATUS", ..]         text: [..]     not_text: [..]     markdown: [..]
    never: [WORD, ..]            words that no report, JSON or handoff may use of this situation
    stderr: [..]                 seconds_below: 20
    explain: [{job: ID, exit: 0, text: [..], not_text: [..]}]
    harmless: true               no control character, no live markup, no file `pwned`: see `harmless`
    same_as_before: true         flags, actions and handoffs equal those of the sweep before, and no handoff file is new

`flags` and `actions` are the whole list, in any order: `NAME`, or `NAME (exempt)`, `NAME (resolved)`, `NAME (blocked)`.
The action `report`, which is a line in the report and nothing else, is left out of it. `{root}` stands for the folder
of the clusters' files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.golden.harness.harmless import harms
from tests.golden.harness.run import Runner, Seen
from tests.golden.harness.world import placed

_KEYS = {
    "exit", "complete", "rows", "sweep_flags", "clusters", "jobs", "no_jobs", "handoffs", "text", "not_text",
    "markdown", "never", "stderr", "seconds_below", "explain", "same_as_before", "handoff_text", "anywhere", "nowhere",
    "harmless",
}  # fmt: skip
Json = Mapping[str, Any]


def differences(expect: Json, seen: Seen, before: Seen | None, runner: Runner) -> list[str]:
    """One line for each thing that is not as expected; empty when all is."""
    unknown = set(expect) - _KEYS
    if unknown:
        raise ValueError(f"expect: {sorted(unknown)} is not known")
    expect = placed(expect, str(runner.world.root / "clusters"))
    return [*_overall(expect, seen), *_subjects(expect, seen), *_shown(expect, seen), *_repeated(expect, seen, before),
            *_explained(expect, runner), *(harms(seen, runner) if expect.get("harmless") else ())]  # fmt: skip


def _overall(expect: Json, seen: Seen) -> Iterator[str]:
    if "exit" in expect and seen.sweep.exit != expect["exit"]:
        yield f"exit is {seen.sweep.exit}, not {expect['exit']}"
    document = seen.document
    if not document:
        if set(expect) & {"clusters", "jobs", "rows", "text", "complete"}:
            yield "there is no report"
        return
    if "complete" in expect and document["sweep"]["complete"] is not expect["complete"]:
        yield f"complete is {document['sweep']['complete']}"
    if "rows" in expect and len(document["jobs"]) != expect["rows"]:
        yield f"{len(document['jobs'])} rows, not {expect['rows']}: {[job['job_id'] for job in document['jobs']]}"
    yield from _names("sweep", "flags", expect.get("sweep_flags", []), document["sweep"]["flags"])
    if "handoffs" in expect:
        yield from _sets("handoffs", expect["handoffs"], [_handoff(one) for one in document["handoffs"]])
    everywhere = set(_everywhere(document))
    yield from (f"{one} is nowhere" for one in expect.get("anywhere", []) if one not in everywhere)
    yield from (f"{one} is there" for one in expect.get("nowhere", []) if one in everywhere)
    if "seconds_below" in expect and seen.seconds >= expect["seconds_below"]:
        yield f"the sweep took {seen.seconds:.1f} s, not below {expect['seconds_below']}"


def _everywhere(document: Json) -> Iterator[str]:
    for part in ("clusters", "jobs", "subjects"):
        for one in document[part]:
            yield from (named["name"] for named in (*one["flags"], *one["actions"]))


def _handoff(one: Json) -> str:
    return f"{one['template']} {one['job_id'] or one['cluster']} {one['status']}"


def _subjects(expect: Json, seen: Seen) -> Iterator[str]:
    clusters = {cluster["name"]: cluster for cluster in seen.document.get("clusters", [])}
    for name, want in expect.get("clusters", {}).items():
        if name not in clusters:
            yield f"cluster {name} is not in the report"
        else:
            yield from _subject(name, want, clusters[name])
        yield from _calls(name, want, seen.calls)
    for key, want in expect.get("jobs", {}).items():
        rows = [
            job
            for job in seen.document.get("jobs", [])
            if str(key) in (job["job_id"], f"{job['cluster']}:{job['job_id']}")
        ]
        if len(rows) != 1:
            yield f"job {key} has {len(rows)} rows, not one"
        else:
            yield from _subject(f"job {key}", want, rows[0])
    for key in expect.get("no_jobs", []):
        if any(
            str(key) in (job["job_id"], f"{job['cluster']}:{job['job_id']}") for job in seen.document.get("jobs", [])
        ):
            yield f"job {key} has a row"


def _subject(name: str, want: Json, got: Json) -> Iterator[str]:
    for key, value in want.items():
        match key:
            case "flags" | "actions":
                yield from _names(name, key, value, got[key])
            case "not_flags" | "not_actions":
                there = {one["name"] for one in got[key.removeprefix("not_")]}
                yield from (f"{name}: {one} is there" for one in value if one in there)
            case "has_flags" | "has_actions":
                there = [_worded(one) for one in got[key.removeprefix("has_")]]
                yield from (f"{name}: {one} missing from {there}" for one in value if one not in there)
            case "because":
                if value not in (got["because"] or ""):
                    yield f"{name}: because is {got['because']!r}, without {value!r}"
            case "messages":
                yield from _messages(name, value, got["flags"])
            case "explained_by":
                for flag in got["flags"]:
                    if flag["name"] in value:
                        yield from _sets(
                            f"{name}: {flag['name']} explained by", value[flag["name"]], flag["explained_by"]
                        )
            case "facts" | "unknown":
                for fact, told in value.items():
                    if got[key].get(fact) != told:
                        yield f"{name}: {key}.{fact} is {got[key].get(fact)!r}, not {told!r}"
            case "links":
                yield from _sets(f"{name}: links", value, [link["job_id"] for link in got["facts"]["links"]])
            case "calls" | "at_most_calls" | "sent":
                pass
            case _:
                if key not in got:
                    raise ValueError(f"{name}: {key!r} is no key of the report")
                if got[key] != value:
                    yield f"{name}: {key} is {got[key]!r}, not {value!r}"


def _names(name: str, what: str, want: Sequence[str], got: Sequence[Json]) -> Iterator[str]:
    yield from _sets(f"{name}: {what}", want, [_worded(one) for one in got if one["name"] != "report"])


def _worded(one: Json) -> str:
    if one.get("exempt") or one.get("status") == "exempt":
        return f"{one['name']} (exempt)"
    if one.get("resolved"):
        return f"{one['name']} (resolved)"
    return f"{one['name']} (blocked)" if one.get("status") == "blocked" else str(one["name"])


def _sets(name: str, want: Sequence[str], got: Sequence[str]) -> Iterator[str]:
    missing = sorted(set(map(str, want)) - set(got))
    extra = sorted(set(got) - set(map(str, want)))
    twice = sorted({one for one in got if got.count(one) > 1})
    if missing:
        yield f"{name}: {', '.join(missing)} missing"
    if extra:
        yield f"{name}: {', '.join(extra)} not expected"
    if twice:
        yield f"{name}: {', '.join(twice)} more than once"


def _messages(name: str, want: Json, flags: Sequence[Json]) -> Iterator[str]:
    for flag, text in want.items():
        said = [one["message"] for one in flags if one["name"] == flag]
        if not any(text in message for message in said):
            yield f"{name}: {flag} says {said}, without {text!r}"


def _calls(name: str, want: Json, calls: Sequence[Json]) -> Iterator[str]:
    mine = [call["argv"] for call in calls if call["cluster"] == name]
    trips = sum(argv == ["ssh"] for argv in mine)
    if "calls" in want and trips != want["calls"]:
        yield f"{name}: {trips} round trips, not {want['calls']}"
    if "at_most_calls" in want and trips > want["at_most_calls"]:
        yield f"{name}: {trips} round trips, more than {want['at_most_calls']}"
    if "sent" in want:
        yield from _sets(f"{name}: sent", want["sent"], sorted({argv[0] for argv in mine}))


def _shown(expect: Json, seen: Seen) -> Iterator[str]:
    for name, where in (("text", seen.text), ("markdown", seen.markdown), ("stderr", seen.sweep.stderr)):
        yield from (f"{name} lacks {part!r}" for part in expect.get(name, []) if part not in where)
    yield from (f"the text has {part!r}" for part in expect.get("not_text", []) if part in seen.text)
    everything = "\n".join(seen.handoffs.values())
    yield from (f"no handoff has {part!r}" for part in expect.get("handoff_text", []) if part not in everything)
    for word in expect.get("never", []):
        pattern = re.compile(rf"\b{re.escape(word)}\b", re.IGNORECASE)
        for where, text in (("text", seen.text), ("markdown", seen.markdown), ("JSON", _said(seen.document))):
            if found := pattern.search(text):
                yield f"the {where} says {word!r}: ...{text[max(0, found.start() - 60) : found.end() + 40]!r}"


def _said(value: Any) -> str:
    """Every text value of a document; its keys are the contract's, or names of facts, and say nothing of a job."""
    if isinstance(value, Mapping):
        return "\n".join(_said(one) for one in value.values())
    if isinstance(value, list):
        return "\n".join(_said(one) for one in value)
    return str(value)


def _repeated(expect: Json, seen: Seen, before: Seen | None) -> Iterator[str]:
    if not expect.get("same_as_before"):
        return
    if before is None:
        raise ValueError("same_as_before needs a sweep before")
    if gist(seen.document) != gist(before.document):
        yield f"not the same as before:\n  {gist(before.document)}\n  {gist(seen.document)}"
    new = sorted(set(seen.handoffs) - set(before.handoffs))
    if new:
        yield f"handoff files that were not there before: {new}"


def gist(document: Json) -> Any:
    """What a sweep decided, without its own times and ids."""
    named = [("cluster", one["name"], one) for one in document["clusters"]]
    named += [("job", f"{one['cluster']}:{one['job_id']}", one) for one in document["jobs"]]
    decided = [
        (kind, key, sorted(map(_flagged, one["flags"])), sorted(map(_acted, one["actions"])))
        for kind, key, one in named
    ]
    return decided, sorted((one["id"], one["status"]) for one in document["handoffs"])


def _flagged(one: Json) -> tuple[str, str]:
    return _worded(one), str(one["since"])


def _acted(one: Json) -> tuple[str, str, str]:
    return one["name"], one["status"], str(one["handoff"])


def _explained(expect: Json, runner: Runner) -> Iterator[str]:
    for want in expect.get("explain", []):
        args = ("explain", str(want["job"]), *want.get("args", []))
        done = runner.command(*args)
        name = " ".join(args)
        if done.exit != want.get("exit", 0):
            yield f"{name}: exit {done.exit}: {done.stderr}"
        whole = done.stdout + done.stderr
        yield from (f"{name} lacks {part!r} in:\n{whole}" for part in want.get("text", []) if part not in whole)
        yield from (f"{name} has {part!r}" for part in want.get("not_text", []) if part in whole)
