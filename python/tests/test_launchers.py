"""Ranks that mpirun and mpiexec start, on this machine and on two hosts: they need no variables."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import slurm
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "support"))
from hosts import agent, two_hosts  # noqa: E402

BENCH = [str(Path(sys.executable).with_name("rondo-bench")), "all_reduce", "-b", "1K", "-e", "1M", "-f", "32"]

TORCH = """
import os, torch, torch.distributed as dist
dist.init_process_group("rondo", rank=int(os.environ["OMPI_COMM_WORLD_RANK"]), world_size=int(os.environ["OMPI_COMM_WORLD_SIZE"]))
ones = torch.ones(1000)
dist.all_reduce(ones)
assert (ones == dist.get_world_size()).all()
dist.destroy_process_group()
print("a rank is well")
"""


def said_by(command, **variables):
    environment = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
    environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore", **variables}
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=200, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


LAUNCHERS = [
    pytest.param("mpirun.openmpi", ["--oversubscribe", "-n"], id="openmpi"),
    pytest.param("mpiexec.hydra", ["-n"], id="mpich"),
]


@pytest.mark.parametrize("program, ranks", LAUNCHERS)
def test_ranks_of_one_machine(program, ranks):
    assert shutil.which(program), f"{program} is missing"
    for number in (1, 3):
        said = said_by([program, *ranks, number, *BENCH])
        assert "Out of bounds values : 0 OK" in said and f"{number} rank" in said, said


def test_ranks_of_two_hosts_by_openmpi(tmp_path):
    with two_hosts() as hosts:
        where = f"{hosts[0].address}:2,{hosts[1].address}:2"
        said = said_by([*hosts[0].inside, "mpirun.openmpi", "--oversubscribe", "--host", where, "-mca", "plm_rsh_agent", agent(tmp_path, hosts), "-mca",
                        "oob_tcp_if_include", "eth", "-n", 4, *BENCH])
    assert "Out of bounds values : 0 OK" in said and "4 ranks" in said, said


def test_ranks_of_two_hosts_by_mpich(tmp_path):
    with two_hosts() as hosts:
        where = f"{hosts[0].address}:2,{hosts[1].address}:2"
        said = said_by([*hosts[0].inside, "mpiexec.hydra", "-launcher", "rsh", "-launcher-exec", agent(tmp_path, hosts), "-iface", "eth", "-hosts", where, "-n", 4,
                        *BENCH])
    assert "Out of bounds values : 0 OK" in said and "4 ranks" in said, said


@pytest.fixture(scope="module")
def srun(tmp_path_factory):
    """Runs commands under srun, where Slurm starts."""
    if why := slurm.missing():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(why)  # CI installs it
    with slurm.running(tmp_path_factory.mktemp("slurm")) as environment:
        if isinstance(environment, str):
            pytest.skip(environment)
        yield lambda *words, **variables: said_by(["srun", "--overcommit", *words], **environment, **variables)


@pytest.mark.parametrize("way", ["pmix", "pmi2"])
def test_ranks_that_srun_starts(srun, way):
    for number in (1, 3):
        said = srun(f"--mpi={way}", "-n", number, *BENCH)
        assert "Out of bounds values : 0 OK" in said and f"{number} rank" in said, said


def test_a_torch_script_under_srun(srun, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(TORCH.replace("OMPI_COMM_WORLD_RANK", "SLURM_PROCID").replace("OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"))
    said = srun("-n", 2, sys.executable, script, MASTER_ADDR="127.0.0.1", MASTER_PORT="29548")
    assert said.count("a rank is well") == 2, said


def test_a_torch_script_under_mpirun(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(TORCH)
    said = said_by(["mpirun.openmpi", "--oversubscribe", "-n", 2, sys.executable, script], MASTER_ADDR="127.0.0.1", MASTER_PORT="29547")
    assert said.count("a rank is well") == 2, said


def test_kubernetes_manifest_fits_together():
    repository = Path(__file__).resolve().parents[2]
    job = yaml.safe_load((repository / "docs" / "kubernetes.yaml").read_text())
    replicas = job["spec"]["pytorchReplicaSpecs"]
    assert [replicas[kind]["replicas"] for kind in ("Master", "Worker")] == [1, 3]
    for replica in replicas.values():
        pod = replica["template"]["spec"]
        (container,) = pod["containers"]
        environment = {entry["name"]: entry["value"] for entry in container["env"]}
        assert container["name"] == "pytorch" and environment["RONDO_REQUIRE_JOB_KEY"] == "1"
        (mount,), (volume,) = container["volumeMounts"], pod["volumes"]
        assert environment["RONDO_JOB_KEY_FILE"] == mount["mountPath"] + "/key" and mount["name"] == volume["name"]
        assert volume["secret"]["defaultMode"] == 0o400 and "securityContext" not in pod
        assert (repository / "python" / "examples" / container["command"][1]).is_file()
        # A variable that nobody reads, or whose value makes no sense, is something that a communicator says.
        alone = subprocess.run([sys.executable, "-c", "import rondo; rondo.Communicator.in_process(1)"], capture_output=True, text=True, timeout=100,
                               env={**os.environ, **environment})
        assert alone.returncode == 0 and alone.stderr == ""
