"""What the ssh transports start and insist on, without a host to talk to."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import paramiko
import pytest

from sweeprules.collectors.transport.command import Command
from sweeprules.collectors.transport.connect import allow_list, transport_for
from sweeprules.collectors.transport.fabric_ssh import FabricTransport, UnknownHostKeyError
from sweeprules.collectors.transport.local import LocalTransport
from sweeprules.collectors.transport.openssh import OpenSshTransport
from sweeprules.collectors.transport.replay import ReplayTransport
from sweeprules.engine.observation import Failure
from sweeprules.engine.site import ClusterRecord, Reach
from tests.collectors.transport.conftest import Recorder, soon

DATE = Command(("date", "+%s"))


def test_nothing_but_the_login_varies_on_the_command_line() -> None:
    spawned = Recorder()
    transport = OpenSshTransport(spawn=spawned, connect_timeout=4.2)
    transport.call("login01", (Command(("cat", "--", "/a $(id)")),), soon())
    (argv,) = spawned.calls
    assert argv == transport.argv("login01")
    assert argv[-3:] == ("--", "login01", "exec /bin/sh -s")
    options = dict(word.split("=") for flag, word in itertools.pairwise(argv) if flag == "-o")
    assert options["BatchMode"] == options["StrictHostKeyChecking"] == "yes"
    assert options["ControlMaster"] == options["ControlPersist"] == options["UpdateHostKeys"] == "no"
    assert options["ConnectTimeout"] == "5"
    assert "ControlPath" not in options


def test_ssh_itself_takes_every_option(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("Host login01\n  HostName 127.0.0.1\n  ControlMaster auto\n  ControlPath /tmp/x-%C\n")
    argv = OpenSshTransport(config=config).argv("login01")
    done = subprocess.run([argv[0], "-G", *argv[1:-1]], capture_output=True, text=True, timeout=20, check=True)
    settings = set(done.stdout.splitlines())
    assert {"batchmode yes", "controlmaster false", "requesttty false", "updatehostkeys false"} <= settings
    assert {"stricthostkeychecking true", "forwardagent no", "hostname 127.0.0.1"} <= settings
    assert any(line.startswith("controlpath /tmp/x-") for line in settings)


@pytest.mark.parametrize("login", ["-oProxyCommand=id", "", "a b", "a;b", "a\nb", "$(id)", "a/b", "--"])
def test_a_login_that_is_no_name_is_not_tried(login: str) -> None:
    spawned = Recorder()
    reply = OpenSshTransport(spawn=spawned).call(login, (DATE,), soon())
    assert spawned.calls == []
    assert reply.failure is Failure.CONNECT and "no name of a login" in reply.detail


def test_the_environment_of_ssh_asks_nobody() -> None:
    seen: list[Mapping[str, str]] = []

    def spawn(argv: Sequence[str], env: Mapping[str, str]) -> subprocess.Popen[bytes]:
        seen.append(env)
        raise OSError(2, "no")

    OpenSshTransport(env={"HOME": "/h", "SSH_AUTH_SOCK": "/s"}, spawn=spawn).call("login01", (DATE,), soon())
    assert seen == [{"HOME": "/h", "SSH_AUTH_SOCK": "/s", "SSH_ASKPASS_REQUIRE": "never"}]


def fabric_parts(tmp_path: Path, extra: str = "") -> FabricTransport:
    known = tmp_path / "known"
    key = paramiko.RSAKey.generate(2048)
    known.write_text(f"[127.0.0.1]:1 ssh-rsa {key.get_base64()}\n")
    config = tmp_path / "config"
    config.write_text(
        f"Host hop\n  HostName 127.0.0.1\n  Port 1\nHost far\n  HostName 127.0.0.1\n  Port 2\n  ProxyJump hop\n{extra}"
        f"Host *\n  UserKnownHostsFile {known} ~/nope\n  GlobalKnownHostsFile /dev/null\n"
    )
    return FabricTransport(config=config, connect_timeout=1.0)


def test_fabric_and_each_of_its_jumps_checks_keys_and_prompts_nobody(tmp_path: Path) -> None:
    connection = fabric_parts(tmp_path)._connection("far")
    for hop in (connection, connection.gateway):
        policy = hop.client._policy
        with pytest.raises(UnknownHostKeyError):
            policy.missing_host_key(hop.client, "x", paramiko.RSAKey.generate(2048))
        assert hop.client._system_host_keys.lookup("[127.0.0.1]:1") is not None
        assert hop.forward_agent is False
        assert hop.connect_kwargs["allow_agent"] is True
        assert "password" not in hop.connect_kwargs


def test_fabric_asks_no_agent_where_the_configuration_names_the_keys(tmp_path: Path) -> None:
    connection = fabric_parts(tmp_path, "Host *\n  IdentitiesOnly yes\n")._connection("far")
    assert connection.connect_kwargs["allow_agent"] is False
    assert connection.connect_kwargs["look_for_keys"] is False


def test_a_broken_ssh_configuration_is_a_failure_and_no_exception(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("Host x\n  Port twelve\n")
    reply = FabricTransport(config=config).call("x", (DATE,), soon())
    assert reply.failure is Failure.CONNECT and reply.detail


def record(via: Literal["openssh", "fabric", "local", "kube", "replay"]) -> ClusterRecord:
    return ClusterRecord(
        "c", "/ops/c/cluster.yaml", "", "slurm", "alice", "UTC", Reach(via, "c"),
        bans=frozenset({"sinfo"}), commands=(("/opt/bin/squeue", "-o", "%i"),),
    )  # fmt: skip


def test_a_record_names_its_transport() -> None:
    assert isinstance(transport_for(record("local")), LocalTransport)
    assert isinstance(transport_for(record("openssh")), OpenSshTransport)
    assert isinstance(transport_for(record("fabric")), FabricTransport)
    assert isinstance(transport_for(record("replay"), ()), ReplayTransport)
    with pytest.raises(ValueError, match="kube"):
        transport_for(record("kube"))


def test_a_record_s_bans_and_programs_are_the_transport_s() -> None:
    allowed = allow_list(record("local"))
    assert allowed.bans == {"sinfo"}
    assert allowed.check(Command(("/opt/bin/squeue", "-o", "%j"))) == "squeue"
