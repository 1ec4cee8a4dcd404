"""The configuration files of a test cluster."""

from __future__ import annotations

import socket
from pathlib import Path

from tests.testbed.layout import Layout

DATABASE_USER = "slurm"
DATABASE_PASSWORD = "slurm"  # of a database on loopback that lives for one test run


def has_memory_cgroups() -> bool:
    """Whether cgroup v1 has memory and freezer controllers here: only then can a job be killed for its memory."""
    controllers: set[str] = set()
    for line in Path("/proc/mounts").read_text().splitlines():
        fields = line.split()
        if fields[2] == "cgroup":
            controllers.update(fields[3].split(","))
    return {"memory", "freezer"} <= controllers


def write_configs(layout: Layout) -> None:
    """Write slurm.conf, slurmdbd.conf and cgroup.conf into the test bed's etc folder."""
    etc = layout.root / "etc"
    (etc / "slurm.conf").write_text(slurm_conf(layout, cgroups=has_memory_cgroups()))
    (etc / "cgroup.conf").write_text(_CGROUP_CONF)
    private = etc / "slurmdbd.conf"
    private.touch(mode=0o600)
    private.write_text(slurmdbd_conf(layout))


def slurm_conf(layout: Layout, *, cgroups: bool) -> str:
    """Four nodes of 8 pretended CPUs: three in the partition boost, one in gg; daemons listen on loopback only."""
    host, ports, root = short_host_name(), layout.ports, layout.root
    node_ports = ",".join(str(ports[f"node{number}"]) for number in range(1, 5))
    kind = "cgroup" if cgroups else "linuxproc"
    return f"""\
ClusterName={layout.cluster}
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={root}/munge/munge.sock
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmctldPort={ports["slurmctld"]}
SlurmdPort={ports["slurmd"]}
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool/%n
SlurmctldPidFile={root}/run/slurmctld.pid
SlurmdPidFile={root}/run/slurmd-%n.pid
SlurmctldLogFile={root}/log/slurmctld.log
SlurmdLogFile={root}/log/slurmd-%n.log
ProctrackType=proctrack/{kind}
TaskPlugin={"task/cgroup" if cgroups else "task/none"}
JobAcctGatherType=jobacct_gather/{"cgroup" if cgroups else "linux"}
JobAcctGatherFrequency=5
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2,sched_min_interval=0,batch_sched_delay=1
ReturnToService=2
SlurmdParameters=config_overrides
MpiDefault=none
MessageTimeout={layout.message_timeout}
SlurmctldTimeout=60
SlurmdTimeout=60
InactiveLimit=0
KillWait=2
MinJobAge={layout.min_job_age}
OverTimeLimit=0
PropagateResourceLimits=NONE
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={ports["slurmdbd"]}
AccountingStoragePass={root}/munge/munge.sock
AccountingStoreFlags=job_comment
DefMemPerCPU=100
NodeName={layout.node_prefix}[1-4] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{node_ports}] CPUs=8 Boards=1 SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=4000 State=UNKNOWN
PartitionName=boost Nodes={layout.node_prefix}[1-3] Default=YES MaxTime=INFINITE DefaultTime=01:00:00 State=UP
PartitionName=gg Nodes={layout.node_prefix}4 MaxTime=1-00:00:00 State=UP
"""  # noqa: E501


def slurmdbd_conf(layout: Layout) -> str:
    """DbdHost has to be this host's short name: slurmdbd refuses to run for an address."""
    host, ports, root = short_host_name(), layout.ports, layout.root
    return f"""\
AuthType=auth/munge
AuthInfo=socket={root}/munge/munge.sock
DbdHost={host}
DbdAddr=127.0.0.1
DbdPort={ports["slurmdbd"]}
MessageTimeout={layout.message_timeout}
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={ports["mariadb"]}
StorageUser={DATABASE_USER}
StoragePass={DATABASE_PASSWORD}
StorageLoc=accounting
LogFile={root}/log/slurmdbd.log
PidFile={root}/run/slurmdbd.pid
"""


def short_host_name() -> str:
    return socket.gethostname().partition(".")[0]


_CGROUP_CONF = """\
CgroupPlugin=cgroup/v1
CgroupMountpoint=/sys/fs/cgroup
ConstrainCores=no
ConstrainRAMSpace=yes
ConstrainSwapSpace=no
ConstrainDevices=no
"""
