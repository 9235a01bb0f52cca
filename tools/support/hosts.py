"""Hosts that are network name spaces of this machine, with a cable between two of them, or a switch between more, for each of their interfaces. Needs root or
user name spaces, and iproute2."""

import ctypes
import os
import pathlib
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass

ROOT = os.geteuid() == 0


@dataclass
class Host:
    inside: list  # the command that goes before another one to run it there
    address: str  # of its first interface
    process: int  # one that is there as long as the host is
    interfaces: list  # their names

    def enter(self):
        """From now on this process is there. Root's alone."""
        space = os.open(f"/proc/{self.process}/ns/net", os.O_RDONLY)
        if ctypes.CDLL(None, use_errno=True).setns(space, 0) != 0:
            raise OSError(ctypes.get_errno(), "a host can't be entered")
        os.close(space)


@contextmanager
def several_hosts(count, interfaces=1):
    """All is gone afterwards."""
    holders = []

    def hold(*command):
        process = subprocess.Popen([*command, "sh", "-c", "echo; exec sleep 36000"], stdout=subprocess.PIPE)
        holders.append(process)
        if process.stdout.read(1) != b"\n":
            raise OSError("network name spaces need root or user name spaces")
        return process.pid

    try:
        first = hold("unshare", "--net", *([] if ROOT else ["--map-root-user"]))
        users = [] if ROOT else [f"--user=/proc/{first}/ns/user", "--preserve-credentials"]
        spaces = [first, *(hold("unshare", "--net") if ROOT else hold("nsenter", *users, "unshare", "--net") for _ in range(count - 1))]
        names = ["eth", *(f"eth{number}" for number in range(1, interfaces))]
        hosts = [Host(["nsenter", *users, f"--net=/proc/{process}/ns/net"], f"10.78.0.{number + 1}", process, names) for number, process in enumerate(spaces)]
        for network, name in enumerate(names):
            connect(hosts, name, hold, users)
            for number, host in enumerate(hosts):
                for command in (f"address add 10.78.{network}.{number + 1}/24 dev {name}", f"link set {name} up", "link set lo up"):
                    run(host.inside, command)
        yield hosts
    finally:
        for process in holders:
            process.kill()
            process.wait()


def run(place, command):
    subprocess.run([*place, "ip", *command.split()], check=True)


def connect(hosts, name, hold, users):
    """An interface of that name for each: two ends of one cable, or of as many cables to a switch as there are hosts."""
    if len(hosts) == 2:
        run(hosts[0].inside, f"link add {name} netns {hosts[0].process} type veth peer name {name} netns {hosts[1].process}")
        return
    space = hold("unshare", "--net") if ROOT else hold("nsenter", *users, "unshare", "--net")
    switch = ["nsenter", *users, f"--net=/proc/{space}/ns/net"]
    run(switch, "link add bridge type bridge")
    run(switch, "link set bridge up")
    for number, host in enumerate(hosts):
        run(switch, f"link add cable{number} type veth peer name {name} netns {host.process}")
        run(switch, f"link set cable{number} master bridge up")


def agent(folder, hosts):
    """What mpirun takes for ssh: runs a command on the host of that address."""
    path = pathlib.Path(folder) / "agent"
    cases = "\n".join(f"{host.address}) exec {' '.join(host.inside)} sh -c \"$*\";;" for host in hosts)
    path.write_text(f'#!/bin/sh\nwhile [ "${{1#-}}" != "$1" ]; do shift; done\nhost=$1; shift\ncase $host in\n{cases}\nesac\necho "no host $host" >&2; exit 1\n')
    path.chmod(0o700)
    return path


def job(rank, size, per_host, address, port=29500):
    """The variables of a rank of a job that meets there, with so many ranks on each host."""
    told = {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": rank % per_host, "LOCAL_WORLD_SIZE": per_host, "MASTER_ADDR": address, "MASTER_PORT": port}
    return {name: str(value) for name, value in told.items()}


def two_hosts():
    return several_hosts(2)
