"""Runs Accelerate's own test scripts, unchanged, on groups that it believes to be Gloo's; Gloo itself can't be made there.

    run_accelerate.py [SCRIPT...]

SCRIPT: names of accelerate.test_utils.scripts. Without: test_script, test_ops and test_sync. Exit 0: all ended well; 1: the end of what a script printed
that didn't.
"""

import os
import subprocess
import sys
from pathlib import Path

import accelerate.test_utils.scripts as scripts

WITHOUT_GLOO = Path(__file__).resolve().parent.parent / "tests" / "without_gloo.py"
DEFAULT = ("test_script", "test_ops", "test_sync")
SECONDS = 600


def run(name):
    """Whether a script ends well, and what it printed."""
    script = Path(scripts.__file__).with_name(f"{name}.py")
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(WITHOUT_GLOO), str(script)]
    environment = dict(os.environ, ACCELERATE_USE_CPU="true", OMP_NUM_THREADS="1", RONDO_TAKEOVER="gloo")
    done = subprocess.run(launcher, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS, env=environment)
    return done.returncode == 0, done.stdout


def main():
    failed = []
    for name in sys.argv[1:] or DEFAULT:
        well, text = run(name)
        print(f"{'passed' if well else 'failed'} accelerate {name}", flush=True)
        if not well:
            failed.append(name)
            print(text[-4000:])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
