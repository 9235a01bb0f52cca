"""Runs torch's own tests of torch.distributed's backends, unchanged, and compares what passes with what is expected.

    run_distributed.py MODE [--record FILE] [TEST...]

MODE: gloo (torch as it is), takeover (Gloo's groups run on Rondo), rondo (groups that ask for Rondo). Without TEST: all of them, about 12 minutes.
With takeover all must pass that Gloo passes (gloo-passes.txt), and with rondo too, save those that exceptions.txt names with the reason.
Exit 0: so it is. 1: the tests that should have passed and didn't are named. --record writes the names of those that passed.
"""

import argparse
import os
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).parent
MODES = ("gloo", "takeover", "rondo")


class Names(unittest.TextTestResult):
    """Prints a line for each test, and keeps the names of those that passed."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.passed = []
        self.outcomes = {}

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()

    def _say(self, test, outcome, detail=""):
        name = test.id().split(".")[-1]
        self.outcomes[name] = outcome
        if outcome == "passed":
            self.passed.append(name)
        print(f"{outcome:8} {name} {time.monotonic() - self.began:.1f} s{detail}", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self._say(test, "passed")

    def addFailure(self, test, reason):
        super().addFailure(test, reason)
        self._say(test, "failed")

    def addError(self, test, reason):
        super().addError(test, reason)
        self._say(test, "failed")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._say(test, "skipped", f": {reason}")


def lines_of(name):
    """A file's lines, without comments."""
    return [line for line in (HERE / name).read_text().splitlines() if line and not line.startswith("#")]


def expected(mode):
    """The tests that must pass in a mode."""
    if mode == "gloo":
        return set(lines_of("gloo-passes.txt"))
    excepted = {line.split()[1] for line in lines_of("exceptions.txt") if line.split()[0] == mode}
    return set(lines_of("gloo-passes.txt")) - excepted


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=MODES)
    parser.add_argument("--record", type=Path, metavar="FILE")
    parser.add_argument("tests", nargs="*", metavar="TEST")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        for name in ("barrier", "test_dir", "init_dir"):
            Path(folder, name).mkdir()
        os.environ.update(BACKEND="rondo" if arguments.mode == "rondo" else "gloo", WORLD_SIZE="2", TEMP_DIR=folder)
        os.environ.pop("RONDO_TAKEOVER", None)
        if arguments.mode == "takeover":
            os.environ["RONDO_TAKEOVER"] = "gloo"
        os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
        sys.path.insert(0, str(HERE))
        import distributed_suite

        loader = unittest.TestLoader()
        names = arguments.tests or loader.getTestCaseNames(distributed_suite.Suite)
        unknown = [name for name in names if not hasattr(distributed_suite.Suite, name)]
        if unknown:
            parser.error(f"torch has no test {unknown[0]}; accepted: those of torch.testing._internal.distributed.distributed_test")
        suite = unittest.TestSuite(distributed_suite.Suite(name) for name in names)
        result = unittest.TextTestRunner(stream=sys.stderr, resultclass=Names, verbosity=0).run(suite)

    if arguments.record:
        arguments.record.write_text("".join(f"{name}\n" for name in sorted(result.passed)))
    missing = sorted((expected(arguments.mode) & set(names)) - set(result.passed))
    counts = {outcome: list(result.outcomes.values()).count(outcome) for outcome in ("passed", "failed", "skipped")}
    print(f"{arguments.mode}: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    for name in missing:
        print(f"should have passed: {name} ({result.outcomes[name]})")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
