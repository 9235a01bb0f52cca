"""python -m devices.run DEVICE CHECK...: runs checks (functions of calls, messages, training and faults) on two ranks each, or as many as messages.SIZES
says, which are forked from here, on as many of such devices as there are, cuda or madeup. Prints a line of JSON for each: its name, and what went wrong.
Exit status 1: something did."""

import datetime
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

import torch
import torch.distributed as dist

import rondo.torch  # noqa: F401 - where the package isn't installed torch hasn't found it

from devices import calls, faults, messages, training

SECONDS = 60


def size_of(check):
    return messages.SIZES.get(check, 2)


def rank_main(rank, kind, check, folder):
    size = size_of(check)
    torch.set_num_threads(1)
    try:
        module = torch.get_device_module(kind)
        device = torch.device(kind, rank % module.device_count())
        module.set_device(device.index)
        seconds = faults.TIMEOUTS.get(check, 30)
        dist.init_process_group("rondo", init_method=f"file://{folder}/store", rank=rank, world_size=size, timeout=datetime.timedelta(seconds=seconds))
        next(getattr(module, check) for module in (calls, messages, training, faults) if hasattr(module, check))(rank, size, device)
        dist.destroy_process_group()
    except BaseException:
        (Path(folder) / f"rank{rank}").write_text(traceback.format_exc())
        os._exit(1)
    os._exit(0)


def ended(process):
    return os.waitpid(process, os.WNOHANG)[0] != 0


def run(kind, check):
    """What went wrong, or ''."""
    sys.stdout.flush()
    with tempfile.TemporaryDirectory() as folder:
        processes = []
        for rank in range(size_of(check)):
            process = os.fork()
            if process == 0:
                rank_main(rank, kind, check, folder)
            processes.append(process)
        late, deadline = dict(enumerate(processes)), time.monotonic() + SECONDS
        while late and time.monotonic() < deadline:
            late = {rank: process for rank, process in late.items() if not ended(process)}
            time.sleep(0.01)
        for process in late.values():
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        said = [f"rank {rank} outlasted {SECONDS} s" for rank in late]
        said += [f"rank {rank}:\n{(Path(folder) / f'rank{rank}').read_text()}" for rank in range(size_of(check)) if (Path(folder) / f"rank{rank}").exists()]
        return "\n".join(said)


if __name__ == "__main__":
    of_kind, *names = sys.argv[1:]
    if of_kind == "madeup":
        import made_up  # noqa: F401
    failed = False
    for name in names:
        began = time.monotonic()
        wrong = run(of_kind, name)
        failed |= wrong != ""
        print(json.dumps({"check": name, "wrong": wrong, "seconds": round(time.monotonic() - began, 2)}), flush=True)
    sys.exit(failed)
