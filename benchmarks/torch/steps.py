"""Training steps of a 25 MB model as calls to be measured: DistributedDataParallel, FSDP2, and DDP with ZeroRedundancyOptimizer."""

LAYERS = 6  # of 1,024 x 1,024 floats: 25 MB
WIDTH = 1024
BATCH = 8


def network(torch):
    torch.manual_seed(0)
    return torch.nn.Sequential(*[layer for _ in range(LAYERS) for layer in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU())])


def step_of(torch, model, optimizer):
    batch = torch.randn(BATCH, WIDTH)

    def step():
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()

    return step


def parallel(torch, group):
    """A DistributedDataParallel model. The fake backend can't tell that all ranks have the same parameters, nor give DDP what it awaits."""
    model = torch.nn.parallel.DistributedDataParallel(network(torch), process_group=group, init_sync=False)
    if torch.distributed.get_backend(group) == "fake":
        model.register_comm_hook(torch, lambda torch, bucket: done(torch, bucket.buffer()))
    return model


def done(torch, value):
    future = torch.futures.Future()
    future.set_result(value)
    return future


def ddp(torch, group):
    model = parallel(torch, group)
    return step_of(torch, model, torch.optim.SGD(model.parameters(), lr=1e-3))


def ddp_bf16(torch, group):
    """By Rondo's own hook, where the group is Rondo's; else as ddp()."""
    import rondo.torch

    model = parallel(torch, group)
    if torch.distributed.get_backend(group) == "rondo":
        rondo.torch.DDPHook("bf16").register(model)
    return step_of(torch, model, torch.optim.SGD(model.parameters(), lr=1e-3))


def fsdp(torch, group):
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.fsdp import fully_shard

    mesh = DeviceMesh.from_group(group, "cpu")
    model = network(torch)
    for layer in model:
        if isinstance(layer, torch.nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return step_of(torch, model, torch.optim.SGD(model.parameters(), lr=1e-3))


def zero(torch, group):
    from torch.distributed.optim import ZeroRedundancyOptimizer

    model = parallel(torch, group)
    optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.SGD, process_group=group, lr=1e-3)
    return step_of(torch, model, optimizer)


MAKERS = {"ddp_step": ddp, "ddp_bf16_step": ddp_bf16, "fsdp_step": fsdp, "zero_step": zero}


def calls(torch):
    """{operation: a step of it, with a group}: the model of a group is made at its first step."""
    made = {}

    def call_of(name):
        def call(group):
            key = (name, group)
            if key not in made:
                made[key] = MAKERS[name](torch, group)
            made[key]()

        return call

    return {name: call_of(name) for name in MAKERS}
