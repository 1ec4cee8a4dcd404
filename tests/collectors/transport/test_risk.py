"""Commands that would print secrets are known by their argument lists."""

import shlex

import pytest

from sweeprules.collectors.transport.risk import secret_risk


@pytest.mark.parametrize(
    "text",
    [
        "kubectl describe pod iris-alice-x-0",
        "kubectl -n iris describe pods",
        "kubectl --context cw -n iris describe po/x",
        "/usr/local/bin/kubectl describe pod x",
        "kubectl get pod x -o yaml",
        "kubectl get pods -n iris -o json",
        "kubectl get pods -ojson",
        "kubectl get pods --output=yaml",
        "kubectl get pods,services -o json",
        "kubectl get po x -o jsonpath={.spec.containers[*].env}",
        "kubectl get po x -o jsonpath={.items}",
        "kubectl get po x -o jsonpath={.spec}",
        "kubectl get po -o go-template={{.}}",
        "kubectl get secret x -o yaml",
        "kubectl get deploy x -o yaml",
        "kubectl exec x -- printenv",
        "kubectl exec x -- cat /proc/1/environ",
        "kubectl config view",
        "oc describe pod x",
        "env",
        "env LC_ALL=C",
        "env LC_ALL=C kubectl describe pod x",
        "printenv",
        "bash -lc 'kubectl describe pod x'",
        "iris query 'select * from jobs'",
        "iris job describe /alice/x",
        "iris job bug-report x",
        "scontrol write batch_script 5 -",
        "scontrol show job 5 --batch-script",
        "cat -- /scratch/10635/penfever/keys.env",
        "grep -F -e KEY -- .env",
        "cat -- /proc/1/environ",
        "head -c 100 -- /home/a/.ssh/id_ed25519",
    ],
)
def test_a_command_that_prints_secrets_is_told_with_a_reason(text: str) -> None:
    assert secret_risk(shlex.split(text))


@pytest.mark.parametrize(
    "text",
    [
        "kubectl -n iris get pods --no-headers",
        "kubectl get pods -o wide",
        "kubectl get pods -o custom-columns=NAME:.metadata.name,PHASE:.status.phase,NODE:.spec.nodeName",
        "kubectl get pods -o jsonpath={.items[*].metadata.name}",
        "kubectl get clusterqueue iris-cq -o json",
        "kubectl get nodes -o json",
        "iris query -f csv 'SELECT job_id,state,error,exit_code FROM jobs'",
        "iris job list",
        "squeue -h -u alice -o %i",
        "env SLURM_TIME_FORMAT=%s sacct -X -n -P --format=JobID",
        "cat -- /etc/hostname",
        "stat -c %s -- /a/b.env",
        "scontrol show job 5 -o",
    ],
)
def test_a_command_that_prints_no_secrets_is_let_be(text: str) -> None:
    assert secret_risk(shlex.split(text)) is None


def test_nothing_is_no_risk() -> None:
    assert secret_risk(()) is None
