"""Another script in this process, as if it had been started."""

import runpy
import sys
from pathlib import Path


def become(script, *arguments):
    sys.argv = [script, *arguments]
    sys.path.insert(0, str(Path(script).parent))
    runpy.run_path(script, run_name="__main__")
