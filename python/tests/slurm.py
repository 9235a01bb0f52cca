"""A Slurm of this machine alone, for as long as a test takes: its own key, sockets, ports and files. Needs root."""

import os
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager

from ranks import free_port

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sinfo")
START_SECONDS = 15

CONFIGURATION = """ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge
StateSaveLocation={folder}
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldPort={controller}
SlurmdPort={daemon}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName={host} NodeAddr=127.0.0.1 CPUs={processors} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def missing():
    """Why there can be none; "" where there can."""
    lacking = [name for name in PROGRAMS if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin")]
    if lacking:
        return f"{', '.join(lacking)} missing: apt-get install slurmctld slurmd slurm-client munge"
    return "" if os.geteuid() == 0 else "Slurm's daemons need root"


@contextmanager
def running(folder):
    """The environment of its commands, or why it doesn't start, as a text."""
    place = os.environ["PATH"] + ":/usr/sbin"
    environment = {**os.environ, "PATH": place, "SLURM_CONF": str(folder / "slurm.conf")}
    key = folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(os.urandom(128))
    facts = {"host": socket.gethostname().split(".")[0], "folder": folder, "controller": free_port(), "daemon": free_port(), "processors": os.cpu_count()}
    (folder / "slurm.conf").write_text(CONFIGURATION.format(**facts))
    version = subprocess.run(["srun", "--version"], env=environment, capture_output=True, text=True).stdout.split()[-1:]
    if version and int(version[0].split(".")[0]) >= 23:  # older ones do without cgroups unless they are told to use them
        (folder / "cgroup.conf").write_text("CgroupPlugin=disabled\n")
    munge = [f"--{name}={folder}/munge{end}" for name, end in (("socket", ""), ("key-file", ".key"), ("log-file", ".log"), ("pid-file", ".pid"), ("seed-file", ".seed"))]
    daemons = []
    try:
        for command in (["munged", "--foreground", "--force", *munge], ["slurmctld", "-D"], ["slurmd", "-D"]):
            daemons.append(subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
            time.sleep(0.5)
        until = time.monotonic() + START_SECONDS
        while "idle" not in subprocess.run(["sinfo", "--noheader", "--format=%T"], env=environment, capture_output=True, text=True).stdout:
            ended = [daemon for daemon in daemons if daemon.poll() is not None]
            if ended or time.monotonic() > until:
                yield "Slurm doesn't start here: " + (ended[0].stderr.read()[-500:] if ended else "its node doesn't get idle")
                return
            time.sleep(0.2)
        yield environment
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.wait()
