"""tools/gpu-check: what it reads out of what programs say, and that a step that hangs is ended with all that it has started."""

import contextlib
import importlib.util
import io
import os
import sys
import tempfile
import time
import unittest
from importlib.machinery import SourceFileLoader
from pathlib import Path
from unittest import mock

TOOL = Path(__file__).resolve().parents[2] / "tools/gpu-check"
loader = SourceFileLoader("gpu_check", str(TOOL))
gpu_check = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_check", loader))
sys.modules["gpu_check"] = gpu_check  # where dataclasses look for it
loader.exec_module(gpu_check)

PASSED = "===\nAll tests passed (12 assertions in 3 test cases)\n"
FAILED = "===\ntest cases: 3 | 2 passed | 1 failed\nassertions: 12 | 10 passed | 2 failed\n"


class WhatProgramsSay(unittest.TestCase):
    def test_counts_of_catch2(self):
        self.assertEqual(gpu_check.catch_counts(PASSED), {"cases": 3, "failed_cases": 0, "assertions": 12})
        self.assertEqual(gpu_check.catch_counts(FAILED), {"cases": 3, "failed_cases": 1, "assertions": 12})
        self.assertEqual(gpu_check.catch_counts("test cases: 1 | 1 passed\nassertions: - none -\n")["assertions"], 0)
        self.assertIsNone(gpu_check.catch_counts("No test cases matched '[small]'\nNo tests ran\n"))

    def test_a_test_that_ran_nothing_has_failed(self):
        self.assertEqual(gpu_check.judged("tests", 0, "No tests ran\n")[:2], ("failed", "no tests ran"))

    def test_failures_and_signals_are_named(self):
        self.assertEqual(gpu_check.judged("tests", 1, FAILED)[:2], ("failed", "1 of 3 test cases failed, exit status 1"))
        self.assertEqual(gpu_check.judged("tests", -11, "")[:2], ("failed", "SIGSEGV"))
        self.assertEqual(gpu_check.judged("tests", 0, PASSED)[0], "passed")

    def test_what_the_sanitizer_finds_fails_whatever_its_exit_status(self):
        clean = "========= ERROR SUMMARY: 0 errors\n"
        self.assertEqual(gpu_check.judged("sanitizer", 0, PASSED + clean)[0], "passed")
        self.assertEqual(gpu_check.judged("sanitizer", 0, PASSED + clean + "========= ERROR SUMMARY: 2 errors\n")[:2], ("failed", "2 errors found"))
        self.assertEqual(gpu_check.judged("sanitizer", 86, PASSED + "= RACECHECK SUMMARY: 3 hazards displayed (1 error, 2 warnings)\n")[:2],
                         ("failed", "exit status 86, 3 errors found"))
        self.assertEqual(gpu_check.judged("sanitizer", 0, PASSED)[:2], ("failed", "compute-sanitizer printed no summary"))

    def test_nccl_tests_pass_by_what_they_checked_alone(self):
        right = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 12.5\n"
        self.assertEqual(gpu_check.judged("nccl", 0, right)[:2], ("passed", "no wrong value, 12.5 GB/s on the average"))
        self.assertEqual(gpu_check.judged("nccl", 0, "# Out of bounds values : 3 FAILED\n")[:2], ("failed", "3 wrong values"))
        self.assertEqual(gpu_check.judged("nccl", 0, "")[:2], ("failed", "it printed no count of wrong values"))
        self.assertEqual(gpu_check.judged("nccl", 2, "invalid argument\n")[:2], ("failed", "exit status 2"))

    def test_json_among_other_lines(self):
        self.assertEqual(gpu_check.json_in('warning {x}\n{"a": 0}\n{"a":\n [1,\n2]}\ndone\n'), {"a": [1, 2]})
        self.assertIsNone(gpu_check.json_in("[warning] nothing\n{"))


class Running(unittest.TestCase):
    def test_a_step_that_hangs_is_stopped_with_what_it_has_started(self):
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder, "log")
            begun = time.monotonic()
            self.assertIsNone(gpu_check.run(("sh", "-c", "sleep 600 & echo $!; wait"), 1, log))
            self.assertLess(time.monotonic() - begun, 60)
            child = int(log.read_text())
            for _ in range(100):  # it has been killed: whoever inherits it takes note of that a moment later
                with contextlib.suppress(FileNotFoundError):
                    if Path(f"/proc/{child}/stat").read_text().split()[2] != "Z":
                        time.sleep(0.1)
                        continue
                return
            self.fail(f"process {child} is still there")

    def test_a_command_that_is_not_there_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(gpu_check.run(("/nowhere/program",), 1, Path(folder, "log")), 127)

    def test_without_a_gpu_it_says_so_in_one_line(self):
        said = io.StringIO()
        with mock.patch.dict(os.environ, PATH="/nowhere"), contextlib.redirect_stderr(said):
            self.assertEqual(gpu_check.main([]), gpu_check.NO_GPU)
        self.assertEqual(len(said.getvalue().splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
