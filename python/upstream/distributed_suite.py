"""The tests that torch ships for backends of torch.distributed, as one unittest class: torch's own source has them without a runner.

BACKEND, WORLD_SIZE and TEMP_DIR must be in the environment, as those tests want it; run_distributed.py sets them.
"""

import os

from torch.testing._internal.common_distributed import DistTestCases

for feature in ("ddp", "subgroup"):
    DistTestCases.backend_feature[feature].add(os.environ["BACKEND"])

from torch.testing._internal.distributed.distributed_test import DistributedTest, TestDistBackend  # noqa: E402


class Suite(TestDistBackend, DistributedTest._DistTestBase):
    """Each test in WORLD_SIZE processes."""

    def setUp(self):
        super().setUp()
        self._spawn_processes()
