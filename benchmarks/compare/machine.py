"""A description of this machine, for the results: what the numbers were measured on."""

import datetime
import os
import pathlib
import platform
import subprocess


def read(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def output(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=False).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def cpu_model():
    for line in read("/proc/cpuinfo").splitlines():
        if line.startswith(("model name", "Model", "CPU part")):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def caches():
    """Of the first core: level, kind, size and which cores share it."""
    found = []
    for folder in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        found.append({"level": read(folder / "level"), "type": read(folder / "type"), "size": read(folder / "size"),
                      "shared_by": read(folder / "shared_cpu_list")})
    return found


def memory_bytes():
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def distribution():
    values = dict(line.split("=", 1) for line in read("/etc/os-release").splitlines() if "=" in line)
    return values.get("PRETTY_NAME", "").strip('"') + " " + read("/etc/debian_version")


def packages(repository):
    """Of the distribution, and what tools/compare took from PyPI."""
    names = ("openmpi-bin", "mpich", "libgloo-dev", "g++", "libucx0")
    lines = output("dpkg-query", "-W", "-f", "${Package} ${Version}\n", *names).splitlines()
    for file in sorted(pathlib.Path(repository, "build/peers").glob("*.txt")):
        lines += [word.replace("==", " ") for word in read(file).split()]
    return {line.split()[0]: line.split()[1] for line in lines if len(line.split()) == 2}


def describe(repository):
    dirty = output("git", "-C", repository, "status", "--porcelain", "--untracked-files=no")
    return {
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "caches": caches(),
        "memory_bytes": memory_bytes(),
        "hypervisor": "hypervisor" in read("/proc/cpuinfo"),
        "transparent_huge_pages": read("/sys/kernel/mm/transparent_hugepage/enabled"),
        "kernel": platform.release(),
        "distribution": distribution(),
        "packages": packages(repository),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": output("git", "-C", repository, "rev-parse", "HEAD") + ("+changes" if dirty else ""),
    }
