"""DeepSpeed's ZeRO on Rondo, by name and taken over. tools/test-torch deepspeed installs DeepSpeed and runs this."""

import pytest
from launch import BFLOAT16, EXACT, EXAMPLES, WITHOUT_GLOO, WITHOUT_REDUCTIONS, run

PROGRAM = EXAMPLES / "zero_deepspeed.py"


@pytest.mark.parametrize("precision, close", [("no", EXACT), ("bf16", BFLOAT16)])
@pytest.mark.parametrize("stage", [0, 1, 2, 3])
def test_deepspeed_learns_on_rondo_what_it_learns_on_gloo(stage, precision, close, tmp_path):
    given = ["--stage", stage, "--precision", precision]

    def losses(*command, backend, **options):
        return run(2, *command, *given, "--backend", backend, folder=tmp_path, DS_ACCELERATOR="cpu", **options)

    theirs = losses(PROGRAM, backend="gloo")
    assert losses(WITHOUT_GLOO, PROGRAM, backend="rondo") == pytest.approx(theirs, rel=close)
    assert losses(WITHOUT_GLOO, PROGRAM, backend="gloo", takeover=True) == pytest.approx(theirs, rel=close)
    assert theirs[-1] < 0.6 * theirs[0]
    assert losses(WITHOUT_REDUCTIONS, PROGRAM, backend="rondo") != pytest.approx(theirs, rel=close)
