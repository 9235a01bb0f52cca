"""What is compared that is no backend of torch.distributed, as calls on a tensor."""

import atexit
import ctypes
import os
import socket

from hosts import agent  # of tools/support, which compare_torch.py made known

PEERS = ("bf16", "deepspeed", "mapped", "openmpi", "operator", "pass", "ring", "turns")


def deepspeed(dist, ranks, rank):
    """DeepSpeed's all_reduce in shared memory, an operator of its own (csrc/cpu/comm/shm.cpp), which its package compiles on first use."""
    os.environ.update(DS_ACCELERATOR="cpu", LOCAL_SIZE=str(ranks))  # it serves ranks of one machine, and has to be told that they all are
    try:
        from deepspeed.ops.op_builder.cpu import ShareMemCommBuilder
    except ImportError as missing:
        raise SystemExit(f"--backends: deepspeed can't be imported ({missing}); to install it: tools/python ninja deepspeed") from None
    import torch

    if rank == 0:
        ShareMemCommBuilder().load(verbose=False)
    dist.barrier()  # the others find it compiled
    library = ShareMemCommBuilder().load(verbose=False)
    library.initialize(ranks, rank)
    if library.vector_kernel_level() < 1:
        raise SystemExit("--backends: deepspeed's all_reduce needs AVX2, which this machine hasn't")
    return torch.ops.deepspeed.inference_all_reduce_


def operator(*_):
    """An operator of torch that has nothing to do, with the tensor: what any operator costs."""
    import torch

    empty = torch.empty(0)
    return lambda tensor: torch.ops.aten.zero_(empty)


def memory_pass(*_):
    """Every rank reads and writes each byte of its tensor once, and nothing passes between ranks: what memory lets any all_reduce in place have."""
    return lambda tensor: tensor.mul_(1)


def in_turns(dist, ranks, _):
    """Torch's fake, and the processor offered to another rank after each call: what any call costs where ranks that share processors wait for one another."""
    fake = dist.new_group(list(range(ranks)), backend="fake")

    def call(tensor):
        dist.all_reduce(tensor, group=fake)
        os.sched_yield()

    return call


def free_port():
    """A port that nobody listens at just now."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def own_communicator(dist, ranks, rank, **options):
    """Of Rondo's, without torch.distributed, by the environment that all ranks have."""
    import rondo

    port = [free_port()]
    dist.broadcast_object_list(port, 0)
    before = dict(os.environ)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(ranks), MASTER_PORT=str(port[0]))
    communicator = rondo.Communicator.from_environment(**options)
    os.environ.clear()
    os.environ.update(before)
    return communicator


def ring(dist, ranks, rank):
    """Rondo with its ring, whatever its planner thinks of that."""
    communicator = own_communicator(dist, ranks, rank, algorithm="ring")
    return lambda tensor: communicator.all_reduce(tensor.numpy(), out=tensor.numpy())


def by_way_of_bf16(dist, ranks, rank):
    """Rondo with bf16 in all that passes between ranks."""
    communicator = own_communicator(dist, ranks, rank)
    return lambda tensor: communicator.all_reduce_fused([tensor.numpy()], wire="bf16")


def mapped(dist, ranks, _):
    """Rondo on tensors that it has allocated, which the ranks map, as long as those that the others get."""
    import torch

    group, cpu, tensors = dist.new_group(list(range(ranks)), backend="rondo"), torch.device("cpu"), {}

    def call(tensor):
        if tensor.numel() not in tensors:
            tensors.clear()  # sizes come one after another
            tensors[tensor.numel()] = group._get_backend(cpu).allocate_tensor(tensor.numel(), dtype=tensor.dtype, device=cpu)
        dist.all_reduce(tensors[tensor.numel()], group=group)

    return call


def openmpi(*_):
    """Open MPI's MPI_Allreduce, in ranks that its mpirun started."""
    library = ctypes.CDLL("libmpi.so.40", ctypes.RTLD_GLOBAL)
    known = {name: ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(library, f"ompi_{name}"))) for name in ("mpi_comm_world", "mpi_float", "mpi_op_sum")}
    if library.MPI_Init(None, None) != 0:
        raise SystemExit("--backends: Open MPI doesn't start")
    atexit.register(library.MPI_Finalize)
    in_place = ctypes.c_void_p(1)

    def call(tensor):
        data, count = ctypes.c_void_p(tensor.data_ptr()), ctypes.c_int(tensor.numel())
        if library.MPI_Allreduce(in_place, data, count, known["mpi_float"], known["mpi_op_sum"], known["mpi_comm_world"]) != 0:
            raise SystemExit("Open MPI's MPI_Allreduce failed")

    return call


def mpirun(folder, ranks, hosts):
    """The command before a program's own that starts its ranks by Open MPI's mpirun: over TCP between these hosts, where there are some."""
    command = ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "--allow-run-as-root", "-n", str(ranks)]
    if not hosts:
        return command
    where = ",".join(f"{host.address}:{ranks // len(hosts)}" for host in hosts)
    interfaces = hosts[0].interfaces
    settings = {"plm_rsh_agent": agent(folder, hosts), "oob_tcp_if_include": interfaces[0], "btl_tcp_if_include": ",".join(interfaces), "pml": "ob1", "btl": "self,tcp"}
    return [*hosts[0].inside, *command, "--host", where, *(word for name, value in settings.items() for word in ("-mca", name, str(value)))]


def make(name, dist, ranks, rank):
    """The call. Of all ranks at once. SystemExit says what is missing."""
    makers = {"bf16": by_way_of_bf16, "deepspeed": deepspeed, "mapped": mapped, "openmpi": openmpi, "operator": operator, "pass": memory_pass, "ring": ring,
              "turns": in_turns}
    return makers[name](dist, ranks, rank)
