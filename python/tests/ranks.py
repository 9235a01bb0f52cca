"""Runs a function as the ranks of a process group, in processes of their own, and passes on what went wrong."""

import os
import re
import socket
import tempfile
import traceback
from pathlib import Path

import torch.distributed as dist
import torch.multiprocessing as multiprocessing


# Ranks are forked from a process that has nothing but these modules: they are imported once, and not by every rank for some seconds each.
RANKS = multiprocessing.get_context("forkserver")
RANKS.set_forkserver_preload(["torch", "torch.distributed", "torch.nn.parallel", "numpy", "accelerate", "transformers.trainer", "sklearn.datasets"])


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def expect(error, words, call):
    """The call raises `error`, whose text has all the words."""
    try:
        call()
    except error as raised:
        missing = [word for word in words if not re.search(word, str(raised))]
        assert not missing, f"{missing} missing in: {raised}"
        return
    raise AssertionError(f"no {error.__name__}")


def _rank_main(rank, size, port, backend, body, arguments, folder):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(size))
    try:
        if backend is not None:
            dist.init_process_group(backend)
        body(rank, size, *arguments)
        if dist.is_initialized():
            dist.destroy_process_group()
    except BaseException:
        (Path(folder) / f"rank{rank}").write_text(traceback.format_exc())
        os._exit(1)  # at once, as a process that fails: peers must notice


def run(size, body, *arguments, backend="rondo", seconds=120):
    """body(rank, size, *arguments) on `size` ranks. Raises with every rank's traceback where one failed, or outlasted `seconds`."""
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        ranks = [RANKS.Process(target=_rank_main, args=(rank, size, port, backend, body, arguments, folder)) for rank in range(size)]
        for process in ranks:
            process.start()
        for process in ranks:
            process.join(seconds)
        late = [rank for rank, process in enumerate(ranks) if process.is_alive()]
        for process in ranks:
            if process.is_alive():
                process.kill()
                process.join()
        said = [f"rank {rank}:\n{(Path(folder) / f'rank{rank}').read_text()}" for rank in range(size) if (Path(folder) / f"rank{rank}").exists()]
        failed = [rank for rank, process in enumerate(ranks) if process.exitcode != 0]
        if late or failed:
            raise AssertionError(f"ranks {late} outlasted {seconds} s, ranks {failed} failed\n" + "\n".join(said))
