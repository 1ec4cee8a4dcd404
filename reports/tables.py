"""The tables of a report: one for each bucket, all clusters in it, built from the report's jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sweeprules.reports.clean import one_line
from sweeprules.reports.words import NOT_EMITTED, UNREAD, duration

TITLES = {
    "rl": "RL",
    "sft": "SFT",
    "datagen": "Datagen",
    "eval": "Eval",
    "catch-all": "Catch-all",
    "UNKNOWN": "Bucket unknown",
}
COLUMNS = ("Job", "State", "Elapsed", "Last output", "Health", "Note")
Data = dict[str, Any]


def tables(jobs: Sequence[Mapping[str, Any]]) -> list[Data]:
    """One table for each bucket that has jobs, in a fixed order; cells are safe, one-line texts."""
    made = []
    for bucket, title in TITLES.items():
        rows = [job for job in jobs if job["bucket"] == bucket]
        if rows:
            made.append(
                {
                    "bucket": bucket,
                    "title": title,
                    "columns": list(COLUMNS),
                    "rows": [_row(job) for job in rows],
                    "rollup": _rollup(rows),
                }
            )
    return made


def _row(job: Mapping[str, Any]) -> list[str]:
    return [
        f"{job['cluster']} {one_line(job['name'], 120)} [{job['job_id']}]",
        _state(job),
        _span(job["facts"].get("elapsed")),
        _last_output(job),
        job["health"],
        _note(job),
    ]


def _state(job: Mapping[str, Any]) -> str:
    if job["state"] == "UNKNOWN":
        unread = job["facts"].get("state")
        reason = unread["unknown"] if isinstance(unread, dict) and "unknown" in unread else ""
        return f"{UNREAD} {reason}".strip()
    exit_text = job["facts"].get("exit")
    if job["state"] in ("FAILED", "OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL", "DEADLINE") and isinstance(exit_text, str):
        return f"{job['state']} {exit_text}"
    return str(job["state"])


def _span(value: Any) -> str:
    if isinstance(value, int | float):
        return duration(value)
    return NOT_EMITTED if isinstance(value, dict) and value.get("absent") else UNREAD


def _last_output(job: Mapping[str, Any]) -> str:
    if job["state"] == "PENDING":
        return NOT_EMITTED
    seconds = job["last_output_age_s"]
    if seconds is not None:
        return f"{duration(seconds)} ago"
    return NOT_EMITTED if job["unknown"].get("last_output_age_s") == "not-applicable" else UNREAD


def _note(job: Mapping[str, Any]) -> str:
    parts = list(dict.fromkeys(_flag_word(f) for f in job["flags"]))
    facts = job["facts"]
    if job["state"] == "PENDING" and isinstance(facts.get("state_reason"), str):
        parts.append(one_line(facts["state_reason"], 60))
    if isinstance(facts.get("state_other"), str):
        parts.append(f"other source says {one_line(facts['state_other'], 40)}")
    links = [link for link in facts.get("links", ()) if link["state"] in ("PENDING", "RUNNING")]
    if links:
        parts.append("links: " + ", ".join(f"{link['job_id']} {link['state']}" for link in links[:4]))
    if not job["bucket_sure"] and job["bucket"] != "UNKNOWN":
        parts.append("bucket not sure")
    return "; ".join(parts) or NOT_EMITTED


def _flag_word(flag: Mapping[str, Any]) -> str:
    tail = " (exempt)" if flag["exempt"] else " (resolved)" if flag["resolved"] else ""
    return f"{flag['name']}{tail}"


def _rollup(rows: Sequence[Mapping[str, Any]]) -> str:
    count = Counter(_phase(job["state"]) for job in rows)
    parts = [f"{word} {count[word]}" for word in ("running", "pending", "ended", "state unknown") if count[word]]
    flagged = sum(job["health"] == "flagged" for job in rows)
    unseen = sum(job["health"] == "unknown" for job in rows)
    parts += [f"flagged {flagged}"] if flagged else []
    parts += [f"health unknown {unseen}"] if unseen else []
    return " · ".join(parts)


def _phase(state: str) -> str:
    return {"RUNNING": "running", "PENDING": "pending", "UNKNOWN": "state unknown"}.get(state, "ended")
