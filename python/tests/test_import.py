"""What an import of torch does with the package, and what it must not do."""

import os
import subprocess
import sys

import pytest
import torch
from torch.torch_version import TorchVersion


def test_torch_is_imported_whatever_happens_to_the_backend():
    program = """
import sys
class Broken:
    def find_spec(self, name, path, target=None):
        if name == "torch.distributed.distributed_c10d" or name.startswith("rondo.torch"):
            raise ImportError("broken on purpose")
sys.meta_path.insert(0, Broken())
sys.modules["torch.distributed"] = None
import rondo_ccl
rondo_ccl.register()
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr.count("rondo is not, or not wholly") == 1, done.stderr


def test_an_import_of_torch_loads_next_to_nothing_of_rondo():
    program = "import sys, torch; print(sorted(name for name in sys.modules if name.startswith('rondo')))"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env=dict(os.environ, RONDO_TAKEOVER="")).stdout
    assert said.split() == ["['rondo',", "'rondo._autoload',", "'rondo._takeover',", "'rondo_ccl']"], said


def test_torch_is_imported_where_the_program_has_files_of_rondo_s_name(tmp_path):
    (tmp_path / "rondo.py").write_text("")
    done = subprocess.run([sys.executable, "-c", "import torch"], capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 0 and "rondo is not, or not wholly" in done.stderr, done.stderr


def test_an_adapter_for_another_torch_is_asked_for_by_name():
    program = """
import torch
built = ".".join(torch.__version__.split(".")[:2])
torch.__version__ = "2.99.1"
import rondo.torch._backend as backend
try:
    backend.load()
except ImportError as wrong:
    assert "torch 2.99" in str(wrong) and "pip install" in str(wrong) and built in str(wrong), wrong
else:
    raise SystemExit("no error")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(TorchVersion(torch.__version__) < "2.14", reason="this torch knows only plugins that are loaded with it")
def test_the_name_is_found_where_plugins_are_not_loaded():
    program = """
import torch, torch.distributed as dist
assert "rondo" not in dist.Backend.backend_list
dist.init_process_group("rondo", store=dist.HashStore(), rank=0, world_size=1)
dist.all_reduce(torch.ones(4))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env=dict(os.environ, TORCH_DEVICE_BACKEND_AUTOLOAD="0"))
    assert done.returncode == 0, done.stderr
