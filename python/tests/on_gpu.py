"""Checks of tensors on cuda, with two ranks on as many GPUs as there are, for a machine that has torch with its headers and a compiler, but perhaps no pip:
the adapter is compiled for that torch, and lies with the rest of the package in a folder.

on_gpu.py LIBRARY FOLDER: librondo.so, built with CUDA, and where the package goes. Prints what each check says, and one JSON object. Exit status 1: something
went wrong; where the adapter can't be built it says why, in a line that begins with rondo-skip.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from devices import CALLS, MESSAGES, TRAINING

ROOT = Path(__file__).resolve().parents[2]
CHECKS = [*CALLS, *MESSAGES, *TRAINING, "refusals", "lateness", "aborted", "aborted_pair", "left"]


def unable(reason):
    print(f"rondo-skip: torch on cuda: {reason}")
    sys.exit(0)


def torch_here():
    try:
        import torch
    except ImportError as reason:
        unable(reason)
    if torch.version.cuda is None or not torch.cuda.is_available():
        unable(f"torch {torch.__version__} finds no GPU")
    return Path(torch.__file__).parent, torch.__version__


def built(torch, version, library, package):
    """The package's folder, with an adapter for the torch that is here."""
    python = Path(sysconfig.get_path("include"))
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    for needed in (python / "Python.h", torch / "include/torch/csrc/distributed/c10d/Backend.hpp"):
        if not needed.is_file():
            unable(f"there is no {needed}")
    if compiler is None:
        unable("there is no C++ compiler")
    shutil.rmtree(package, ignore_errors=True)
    objects = package / "objects"
    shutil.copytree(ROOT / "python/rondo", package / "rondo")
    objects.mkdir()
    name = "_c10d_" + "_".join(version.split(".")[:2])
    options = ["-std=c++20", "-O1", "-fPIC", "-fvisibility=hidden", f"-DTORCH_EXTENSION_NAME={name}", f"-I{ROOT / 'include'}"]
    for folder in (torch / "include", torch / "include/torch/csrc/api/include", python):
        options += ["-isystem", str(folder)]

    def compiled(source):
        target = objects / f"{source.stem}.o"
        subprocess.run([compiler, *options, "-c", str(source), "-o", str(target)], check=True)
        return str(target)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
        files = list(threads.map(compiled, sorted((ROOT / "python/torch").glob("*.cpp"))))
    libraries = [str(torch / "lib" / f"lib{part}.so") for part in ("c10", "torch_cpu", "torch_python")]
    folders = [f"-Wl,-rpath,{folder}" for folder in (library.parent, torch / "lib")]
    subprocess.run([compiler, "-shared", *files, str(library), *libraries, *folders, "-Wl,--allow-shlib-undefined", "-o",
                    str(package / "rondo/torch" / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}")], check=True)


def main(library, package):
    torch, version = torch_here()
    built(torch, version, library, package)
    environment = dict(os.environ, PYTHONPATH=f"{package}:{Path(__file__).parent}", OMP_NUM_THREADS="1")
    ran = subprocess.Popen([sys.executable, "-W", "ignore", "-m", "devices.run", "cuda", *CHECKS], env=environment, stdout=subprocess.PIPE, text=True)
    said = {}
    for line in ran.stdout:
        if line.startswith("{"):
            result = json.loads(line)
            said[result["check"]] = "passed" if result["wrong"] == "" else "failed"
            print(f"{result['check']}: {said[result['check']]} in {result['seconds']} s\n{result['wrong']}".rstrip(), flush=True)
    print(json.dumps({"torch": version, "checks": said}))
    return 0 if ran.wait() == 0 and len(said) == len(CHECKS) else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()))
