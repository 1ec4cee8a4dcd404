"""One mistake in a record, a site file or the catalogue is one short message at its place."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.schemas.shipped import ROOT, parse_yaml, problems, read_yaml

RECORD = """
cluster: alpha
scheduler: slurm
user: alice
timezone: Europe/Rome
reach: {via: openssh, host: alpha, fallbacks: [login02], connect_timeout: 15s, command_timeout: 60s, host_keys: strict}
downtime: [{from: 2026-06-23, to: 2026-07-12, because: cooling}]
caps: {rl_running: 6}
walls: {default: 24h}
gpu_memory_limit: 64GB
paths: {experiments: /x, logs: [/a]}
log_fallbacks: ["data_{job_id}.out"]
quota: [{tool: df-i, path: /e}, {tool: jutil, project: datasets}, {tool: cindata}]
certs: [{path: ~/.ssh/x-cert.pub, needed_by: [hf_upload], warn: 2h}]
write_paths: {persistent: [/w], scratch: [/s]}
bans: [find, du]
commands: [{argv: [sinfo, -h], because: nodes at a glance}]
refusals: [{text: Invalid account, means: maintenance}]
gotchas: [{tag: delete, text: look first, validated: 2026-07-08, source: notes}]
validated: {caps.rl_running: 2026-07-08, timezone: false}
"""
IRIS = """
cluster: beta
scheduler: iris
user: alice
reach: {via: kube}
kube: {kubeconfig: ~/.kube/x, context: x, namespace: iris}
iris: {cluster: cw, binary: /opt/iris}
"""
SITE = """
extends: builtin
series:
  - {name: a3, match: {name: {glob: "*a3*"}}, status: concluded}
  - {name: d, match: {name: {glob: "*d*"}}, db_registration: false}
exempt_targets: ["Org/*"]
benchmarks: {tb2: {tasks: 89, reps: 3}}
hub: {endpoint: https://hub.example, token: env:HUB_TOKEN}
registry: {export: registry.json}
pools: [{name: snaps, kind: snapshots, cap: 60, export: snaps.json}]
trackers: [{path: a/grid.md, kind: grid, series: d}, {path: b/STATE.md, kind: campaign}]
evidence: evidence/*.yaml
experiment_log: log.md
notify: [{url: env:HOOK, on: [critical]}]
metrics: {textfile: sweep.prom}
keep: {sweeps: 90d, cassettes: 30d}
"""
GONE = object()


def _changed(base: Any, path: str, value: object) -> Any:
    """The document with one place changed, added or (GONE) taken away."""
    document = copy.deepcopy(base)
    *parents, last = [int(part) if part.isdigit() else part for part in path.split("/")]
    node = document
    for part in parents:
        node = node[part]
    if value is GONE:
        del node[last]
    else:
        node[last] = value
    return document


@pytest.mark.parametrize(("name", "text"), [("cluster", RECORD), ("cluster", IRIS), ("site", SITE)])
def test_the_unbroken_document_is_valid(name: str, text: str) -> None:
    assert problems(name, parse_yaml(text)) == []


@pytest.mark.parametrize(
    ("path", "value", "where", "says"),
    [
        ("schedular", "slurm", "", "'schedular' was unexpected"),
        ("cluster", GONE, "", "'cluster' is a required property"),
        ("cluster", "Alpha One", "cluster", "does not match"),
        ("scheduler", "pbs", "scheduler", "'pbs' is not one of"),
        ("scheduler", GONE, "", "'scheduler' is a required property"),
        ("user", GONE, "", "'user' is a required property"),
        ("user", 1000, "user", "1000 is not of type 'string'"),
        ("user", "-x", "user", "does not match"),
        ("user", "alice\n", "user", "does not match"),
        ("timezone", GONE, "", "'timezone' is a required property"),
        ("enabled", "no", "enabled", "'no' is not of type 'boolean'"),
        ("enabled", False, "", "'because' is a required property"),
        ("reach", GONE, "", "'reach' is a required property"),
        ("reach", "alpha", "reach", "is not of type 'object'"),
        ("reach/via", "sshd", "reach.via", "'sshd' is not one of"),
        ("reach", {"via": "kube"}, "reach.via", "should not be valid"),
        ("reach/via", GONE, "reach", "'via' is a required property"),
        ("reach/host", GONE, "reach", "'host' is a required property"),
        ("reach/host", "-oProxyCommand=touch x", "reach.host", "does not match"),
        ("reach/fallback", ["login02"], "reach", "'fallback' is not one of"),
        ("reach/fallbacks", "login02", "reach.fallbacks", "is not of type 'array'"),
        ("reach/fallbacks", ["a", "a"], "reach.fallbacks", "non-unique"),
        ("reach/connect_timeout", 15, "reach.connect_timeout", "15 is not of type 'string'"),
        ("reach/connect_timeout", "15 s", "reach.connect_timeout", "does not match"),
        ("reach/host_keys", "off", "reach.host_keys", "'off' is not one of"),
        ("reach/cassette", "a.json", "reach", "'cassette' is not one of"),
        ("reach", {"via": "local", "host": "alpha"}, "reach", "'host' is not one of"),
        ("reach", {"via": "replay"}, "reach", "'cassette' is a required property"),
        ("kube", {"kubeconfig": "~/.kube/x", "namespace": "iris"}, "", "'kube' should not be valid"),
        ("downtime/0/because", GONE, "downtime.0", "'because' is a required property"),
        ("downtime/0/from", "June", "downtime.0.from", "does not match"),
        ("caps/rl_running", -1, "caps.rl_running", "less than the minimum"),
        ("caps/rl_running", "6", "caps.rl_running", "is not of type 'integer'"),
        ("caps/rl", 6, "caps", "'rl' was unexpected"),
        ("walls/default", 24, "walls.default", "24 is not of type 'string'"),
        ("gpu_memory_limit", "64 gigs", "gpu_memory_limit", "does not match"),
        ("paths/logs", "/a", "paths.logs", "is not of type 'array'"),
        ("paths/experiments", "x", "paths.experiments", "does not match"),
        ("log_fallbacks/0", "logs/{job_id}.out", "log_fallbacks.0", "does not match"),
        ("log_fallbacks/0", "data.out", "log_fallbacks.0", "does not match"),
        ("quota/0/tool", "du", "quota.0.tool", "'du' is not one of"),
        ("quota/0/path", GONE, "quota.0", "'path' is a required property"),
        ("quota/1/path", "/e", "quota.1", "'path' is not one of"),
        ("quota/2/project", "p", "quota.2", "'project' is not one of"),
        ("certs/0/warn", "2 hours", "certs.0.warn", "does not match"),
        ("bans/0", "find /", "bans.0", "does not match"),
        ("commands/0/argv", "sinfo -h", "commands.0.argv", "is not of type 'array'"),
        ("commands/0/argv", [], "commands.0.argv", "should be non-empty"),
        ("commands/0/because", GONE, "commands.0", "'because' is a required property"),
        ("refusals/0/means", "down", "refusals.0.means", "'down' is not one of"),
        ("gotchas/0/tag", "Delete!", "gotchas.0.tag", "does not match"),
        ("gotchas/0/validated", "recently", "gotchas.0.validated", "does not match"),
        ("gotchas/0/source", GONE, "gotchas.0", "'source' is a required property"),
        ("validated/timezone", "maybe", "validated.timezone", "does not match"),
        ("validated/Caps RL", False, "validated", "does not match"),
    ],
)
def test_a_broken_record(path: str, value: object, where: str, says: str) -> None:
    _expect("cluster", _changed(parse_yaml(RECORD), path, value), where, says)


@pytest.mark.parametrize(
    ("path", "value", "where", "says"),
    [
        ("kube", GONE, "", "'kube' is a required property"),
        ("kube/namespace", GONE, "kube", "'namespace' is a required property"),
        ("kube/kubeconfig", "x", "kube.kubeconfig", "does not match"),
        ("iris", {"binary": "/opt/iris"}, "iris", "'cluster' is a dependency of 'binary'"),
        ("iris", {"url": "localhost:1"}, "iris.url", "does not match"),
        ("reach", {"via": "openssh", "host": "b"}, "reach.via", "should not be valid"),
        ("reach/host", "b", "reach", "'host' is not one of"),
        ("scheduler", "kubernetes", "", "'iris' should not be valid"),
    ],
)
def test_a_broken_record_of_a_controller(path: str, value: object, where: str, says: str) -> None:
    _expect("cluster", _changed(parse_yaml(IRIS), path, value), where, says)


@pytest.mark.parametrize(
    ("path", "value", "where", "says"),
    [
        ("extend", "builtin", "", "'extend' was unexpected"),
        ("extends", "builtins", "extends", "'builtin' was expected"),
        ("series/0/status", "closed", "series.0.status", "'closed' is not one of"),
        ("series/0/match", "*a3*", "series.0.match", "is not of type 'object'"),
        ("series/0/match/name/prefix", "a3", "series.0.match.name", "was unexpected"),
        ("series/1/db_registration", "false", "series.1.db_registration", "is not of type 'boolean'"),
        ("exempt_targets", "Org/*", "exempt_targets", "is not of type 'array'"),
        ("benchmarks/tb2/tasks", 0, "benchmarks.tb2.tasks", "less than the minimum"),
        ("benchmarks/tb2/reps", GONE, "benchmarks.tb2", "'reps' is a required property"),
        ("hub/endpoint", "http://hub.example", "hub.endpoint", "does not match"),
        ("hub/token", "hf_abc", "hub.token", "does not match"),
        ("registry", "registry.json", "registry", "is not of type 'object'"),
        ("pools/0/kind", "images", "pools.0.kind", "'images' is not one of"),
        ("pools/0/export", GONE, "pools.0", "'export' is a required property"),
        ("trackers/0/kind", "table", "trackers.0.kind", "'table' is not one of"),
        ("notify/0/url", "https://hooks.example/abc", "notify.0.url", "does not match"),
        ("notify/0/on", ["fatal"], "notify.0.on.0", "'fatal' is not one of"),
        ("keep/sweeps", "forever", "keep.sweeps", "does not match"),
        ("keep/sweeps", 90, "keep.sweeps", "90 is not of type 'string'"),
    ],
)
def test_a_broken_site_file(path: str, value: object, where: str, says: str) -> None:
    _expect("site", _changed(parse_yaml(SITE), path, value), where, says)


@pytest.mark.parametrize(
    ("path", "value", "where", "says"),
    [
        ("catalogue", 2, "catalogue", "1 was expected"),
        ("flags/failure/severity", "fatal", "flags.failure.severity", "'fatal' is not one of"),
        ("flags/failure/why", GONE, "flags.failure", "'why' is a required property"),
        ("flags/failure/feeds", 6, "flags.failure.feeds", "greater than the maximum"),
        ("flags/failure/subject", "job", "flags.failure.subject", "is not of type 'array'"),
        ("actions/report/class", "anyone", "actions.report.class", "'anyone' is not one of"),
        ("actions/report/destructive", "maybe", "actions.report.destructive", "is not one of"),
        ("templates/tree-triage/done_signal", GONE, "templates.tree-triage", "is a required property"),
        ("slurm_states/RUNNING/state", "UNKNOWN", "slurm_states.RUNNING.state", "'UNKNOWN' is not one of"),
        ("enums/bucket", [], "enums.bucket", "should be non-empty"),
    ],
)
def test_a_broken_catalogue(path: str, value: object, where: str, says: str) -> None:
    _expect("catalogue", _changed(read_yaml(ROOT / "rules" / "catalogue.yaml"), path, value), where, says)


@pytest.mark.parametrize("left_out", ["user", "reach", "timezone"])
def test_a_cluster_that_is_not_swept_may_leave_out_how(left_out: str) -> None:
    record = _changed(_changed(parse_yaml(RECORD), "enabled", False), "because", "dropped")
    assert problems("cluster", _changed(record, left_out, GONE)) == []


def _expect(name: str, document: object, where: str, says: str) -> None:
    found = problems(name, document)
    assert [path for path, _ in found] == [where], found
    message = found[0][1]
    assert says in message
    assert len(message) < 200
