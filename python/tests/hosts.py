"""Hosts that are network name spaces of this machine, with a cable between two of them."""

import os
import subprocess
from contextlib import contextmanager

ROOT = os.geteuid() == 0


def _inside(process, users):
    """The command that goes before another one to run it there."""
    user = [] if ROOT else ["--user", f"--user=/proc/{users}/ns/user", "--preserve-credentials"]
    return ["nsenter", *user[1:], f"--net=/proc/{process}/ns/net"]


@contextmanager
def two_hosts():
    """For each host, the command that goes before another one to run it there, and its address. All is gone afterwards."""
    holders = []

    def hold(*command):
        process = subprocess.Popen([*command, "sh", "-c", "echo; exec sleep 3600"], stdout=subprocess.PIPE)
        holders.append(process)
        assert process.stdout.read(1) == b"\n", "network name spaces need root or user name spaces"
        return process.pid

    try:
        first = hold("unshare", "--net", *([] if ROOT else ["--map-root-user"]))
        second = hold("unshare", "--net") if ROOT else hold("nsenter", f"--user=/proc/{first}/ns/user", "--preserve-credentials", "unshare", "--net")
        hosts = [(_inside(process, first), f"10.78.0.{number + 1}") for number, process in enumerate((first, second))]
        cable = ["ip", "link", "add", "eth", "netns", str(first), "type", "veth", "peer", "name", "eth", "netns", str(second)]
        subprocess.run([*hosts[0][0], *cable], check=True)
        for inside, address in hosts:
            for command in (f"address add {address}/24 dev eth", "link set eth up", "link set lo up"):
                subprocess.run([*inside, "ip", *command.split()], check=True)
        yield hosts
    finally:
        for process in holders:
            process.kill()
            process.wait()
