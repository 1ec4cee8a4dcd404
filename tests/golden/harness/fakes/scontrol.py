"""`scontrol` show job, show res, ping, and `sinfo -V`, as Slurm prints them."""

from __future__ import annotations

from table import Cluster, Job, Refused, clock, limit, not_simulated


def run(cluster: Cluster, argv: list[str]) -> tuple[str, str, int]:
    """What `scontrol ARGV` prints: stdout, stderr, exit status."""
    words = [word for word in argv if word not in ("-o", "--oneliner")]
    one_line = len(words) < len(argv)
    if words == ["ping"]:
        return "Slurmctld(primary) at vm is UP\n", "", 0
    if words[:2] in (["show", "res"], ["show", "reservation"], ["show", "reservations"]) and len(words) == 2:
        return _reservations(cluster), "", 0
    if words[:2] == ["show", "job"] and len(words) <= 3 and one_line:
        return _jobs(cluster, words[2] if len(words) == 3 else None), "", 0
    raise not_simulated("scontrol", " ".join(argv))


def sinfo(cluster: Cluster, argv: list[str]) -> tuple[str, str, int]:
    """`sinfo -V` alone."""
    if argv != ["-V"]:
        raise not_simulated("sinfo", " ".join(argv))
    return f"slurm-wlm {cluster.release}\n", "", 0


def _reservations(cluster: Cluster) -> str:
    lines = [
        f"ReservationName={res['name']} StartTime={cluster.time(res['start'], '')} "
        f"EndTime={cluster.time(res['end'], '')} Duration={clock(res['end'] - res['start'], wide=True)} "
        f"Nodes={res['nodes']} NodeCnt={res['count']} CoreCnt={res['count'] * 32} Features=(null) "
        f"PartitionName={res['partition'] or '(null)'} Flags={','.join(res['flags'])} TRES=cpu={res['count'] * 32} "
        f"Users=root Groups=(null) Accounts=(null) Licenses=(null) State={_res_state(cluster, res)} "
        "BurstBuffer=(null) Watts=n/a MaxStartDelay=(null)\n"
        for res in cluster.reservations
    ]
    return "".join(lines) or "No reservations in the system\n"


def _res_state(cluster: Cluster, res: dict) -> str:
    return "ACTIVE" if res["start"] <= cluster.now < res["end"] else "INACTIVE"


def _jobs(cluster: Cluster, wanted: str | None) -> str:
    jobs = cluster.known()
    if wanted is not None:
        jobs = [job for job in jobs if wanted in (job["id"], job["raw"], job["base"])]
        if not jobs:
            raise Refused("slurm_load_jobs error: Invalid job id specified")
    return "".join(_job(cluster, job) for job in jobs)


def _job(cluster: Cluster, job: Job) -> str:
    pending = job["pending"]
    path = job.expanded(node_codes=cluster.version >= (26, 0))
    array = f"ArrayJobId={job['base']} ArrayTaskId={job['task']} " if job["task"] else ""
    het = f"HetJobId={job['base']} HetJobOffset={job['het']} " if job["het"] else ""
    uid = cluster.users.get(job["user"], 0)
    signal = "0:15" if job.word in ("TIMEOUT", "CANCELLED") else job["exit"]
    nodes = f"NodeList= NumNodes={job['nodes']}" if pending else (
        f"NodeList={job['node_list']} BatchHost={job['node_list']} NumNodes={job['nodes']}"
    )  # fmt: skip
    tres = f"cpu={job['cpus']},mem=100M,node={job['nodes']},billing=1"
    tres = f"TRES={tres}" if cluster.version < (23, 2) else f"ReqTRES={tres} AllocTRES=(null)"
    never = "Unknown"
    return (
        f"JobId={job['raw']} {array}{het}JobName={job['name']} UserId={job['user']}({uid}) "
        f"GroupId={job['user']}({uid}) MCS_label=N/A Priority=4294901759 Nice=0 Account={job['account']} "
        f"QOS={job['qos']} JobState={job.word} Reason={job['reason']} Dependency={job['dependency'] or '(null)'} "
        f"Requeue=1 Restarts={len(job['attempts'])} BatchFlag=1 Reboot=0 ExitCode={signal} "
        f"RunTime={clock(job.elapsed, wide=True)} TimeLimit={limit(job['limit'], wide=True)} TimeMin=N/A "
        f"SubmitTime={cluster.time(job['submit'], never)} EligibleTime={cluster.time(job['eligible'], never)} "
        f"AccrueTime={cluster.time(job['eligible'], never)} "
        f"StartTime={cluster.time(None if pending else job['start'], never)} "
        f"EndTime={cluster.time(job['end'], never)} Deadline=N/A SuspendTime=None SecsPreSuspend=0 "
        f"LastSchedEval={cluster.time(job['submit'], never)} Scheduler=Main Partition={job['partition']} "
        f"AllocNode:Sid=login01:2955 ReqNodeList=(null) ExcNodeList=(null) {nodes} NumCPUs={job['cpus']} "
        f"NumTasks=1 CPUs/Task=1 ReqB:S:C:T=0:0:*:* {tres} "
        "Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=* MinCPUsNode=1 MinMemoryCPU=100M MinTmpDiskNode=0 "
        "Features=(null) DelayBoot=00:00:00 OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null) "
        f"{_comment(job)}Command={job['command'] or '(null)'} WorkDir={job['workdir']} StdErr={path} StdIn=/dev/null "
        f"StdOut={path} {'Power= ' if cluster.version < (24, 5) else ''}\n"
    )


def _comment(job: Job) -> str:
    return f"Comment={job['comment']} " if job["comment"] else ""
