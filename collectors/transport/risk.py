"""Which commands would print secrets: the environments of pods, whole objects, key files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

_KUBE = frozenset({"kubectl", "oc", "k", "microk8s.kubectl"})
_KUBE_VALUES = frozenset(
    ("-n", "--namespace", "--context", "--kubeconfig", "--cluster", "-l", "--selector", "-s", "--server")
)
_WITH_PODS = re.compile(
    r"(po|pods?|all|deploy(ments?)?|jobs?|rs|replicasets?|sts|statefulsets?|ds|daemonsets?|cm|secrets?"
    r"|configmaps?|cj|cronjobs?|rc|replicationcontrollers?)(\.[a-z0-9.]+)?(/.*)?"
)
_WHOLE = re.compile(r"(yaml|json|jsonpath-as-json.*|go-template.*|template.*|jsonpath-file.*|custom-columns-file.*)")
_OPEN_FIELD = re.compile(
    r"\benv\b|\benvFrom\b|containers(\[[^]]*\])?(\}|,|$|\s)|\.spec(\}|,|$|\s)|\.items(\[[^]]*\])?\}"
    r"|\{\.?@?\}|\.\.|annotations|\.data\b"
)
_KEY_FILE = re.compile(
    r"(^|/)(\.env|[^/]*\.env|id_(rsa|dsa|ecdsa|ed25519)|\.netrc|\.pgpass|kubeconfig|credentials"
    r"|\.git-credentials|\.kube/config|environ|[^/]*\.pem|token)$"
)
_READERS = frozenset({"cat", "head", "tail", "grep", "less", "more", "sed", "awk", "strings", "cut", "xargs"})
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ssh"})


def secret_risk(argv: Sequence[str]) -> str | None:
    """Why this command would print secrets, None when nothing is known against it.

    It knows of pods and their owners described or dumped whole (`kubectl describe pod`, `get pod -o yaml|json`, a
    jsonpath over `env`), environments (`printenv`, `env`, `/proc/*/environ`), stored batch scripts, whole rows and job
    descriptions of iris, and files that are kept for keys. It judges any command, allowed or not.
    """
    words = [word for word in argv if word]
    if not words:
        return None
    program = PurePosixPath(words[0]).name
    rest = words[1:]
    if program in _SHELLS and any(" " in word for word in rest):
        return next((risk for word in rest if (risk := secret_risk(word.split())) is not None), None)
    if program == "env":
        behind = [word for word in rest if "=" not in word and not word.startswith("-")]
        return secret_risk(rest[rest.index(behind[0]) :]) if behind else "`env` prints the whole environment"
    if program in {"printenv", "export", "set", "declare"}:
        return f"`{program}` prints the environment"
    if program in _KUBE:
        return _kube(rest)
    if program == "iris":
        return _iris(rest)
    if program == "scontrol" and "batch_script" in " ".join(rest).replace("--batch-script", "batch_script"):
        return "a stored batch script may hold keys"
    if program in _READERS and any(_KEY_FILE.search(word) for word in rest if not word.startswith("-")):
        return f"`{program}` would print a file that is kept for keys"
    return None


def _kube(rest: list[str]) -> str | None:
    words, outputs = _kube_words(rest)
    verb = words[0] if words else ""
    kinds = [kind for word in words[1:2] for kind in word.split(",")]
    if verb == "exec":
        return secret_risk(rest[rest.index("--") + 1 :]) if "--" in rest else "`kubectl exec` runs anything"
    if verb in {"cluster-info", "config"} and {"dump", "view"} & set(words):
        return f"`kubectl {' '.join(words[:2])}` prints whole objects"
    if verb not in {"describe", "get"} or not any(_WITH_PODS.fullmatch(kind.lower()) for kind in kinds):
        return None
    if verb == "describe":
        return f"`kubectl describe {kinds[0]}` prints the environment of its containers, live keys among it"
    for output in outputs:
        if _WHOLE.fullmatch(output) or _OPEN_FIELD.search(output):
            return f"`kubectl get {kinds[0]} -o {output[:40]}` prints whole objects, environments among them"
    return None


def _kube_words(rest: list[str]) -> tuple[list[str], list[str]]:
    """The plain words of a kubectl command line, and the output formats it asks for."""
    words: list[str] = []
    outputs: list[str] = []
    at = 0
    while at < len(rest) and rest[at] != "--":
        word = rest[at]
        at += 1
        if word in {"-o", "--output"}:
            outputs += rest[at : at + 1]
            at += 1
        elif word.startswith("--output="):
            outputs.append(word.partition("=")[2])
        elif word.startswith("-o"):
            outputs.append(word[2:].removeprefix("="))
        elif word in _KUBE_VALUES:
            at += 1
        elif word == "--template" or word.startswith("--template="):
            outputs.append("go-template")
        elif not word.startswith("-"):
            words.append(word)
    return words, outputs


def _iris(rest: list[str]) -> str | None:
    text = " ".join(rest)
    words = [word for word in rest if not word.startswith("-")]
    if "query" in words and re.search(r"(?i)select\s+(\w+\.)?\*|\brequest|\benv", text):
        return "`iris query` would print whole rows, the environment of the job in them"
    if {"describe", "bug-report", "inspect", "dump"} & set(words):
        return "`iris` would print the whole job, its environment in it"
    return None
