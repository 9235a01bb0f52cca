#!/usr/bin/env python3
"""Model-checks the slot protocol with Spin: slots.pml must be right in every state, each of its mutants must be found to be wrong, and the code
must still have the lines that the model stands for (docs/design/0014-models.md).

check_model.py [long]: bounded configurations, a minute or two; long: the larger ones, too, for which 12 GB of memory and half an hour may be needed.
Exit 1 when a verdict is not what it must be, 2 when Spin or a compiler is missing.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MODEL = ("slots.pml", "moves.pml", "words.pml")
BOUNDED_MB = 1900
LONG_MB = 12_000
DEPTH = 3_000_000  # of the search; one that doesn't suffice is an error


@dataclass(frozen=True)
class Run:
    what: str
    flags: str
    wrong: str = ""  # what Spin must find: a pattern of its report; "": nothing
    large: bool = False  # millions of states: worth the seconds that optimisation takes


# Bits of PLANS are those of words.pml. Where ranks disagree nobody puts: 0014 says why.
WITHOUT_PUT = "-DPLANS=382"
RIGHT = (
    Run("2 ranks, a crash, any number of calls", "-DRANKS=2 -DCRASHES=1"),
    Run("2 ranks, a crash, any number of calls, plans of 2 slots in a ring of 3", "-DRANKS=2 -DCRASHES=1 -DDEPTH=2"),
    Run("2 ranks, a crash, any number of calls of up to 6 pieces through 4 slots",
        "-DRANKS=2 -DCRASHES=1 -DSLOTS=4 -DALL_PIECES=6 -DLONG_PIECES=6 -DRING_PIECES=6"),
    Run("2 ranks, a crash, 4 calls, nothing forgotten", "-DRANKS=2 -DCRASHES=1 -DCALLS=4 -DFORGET=0", large=True),
    Run("2 ranks, one of which strays, any number of calls", f"-DRANKS=2 -DDISAGREE=1 {WITHOUT_PUT}", large=True),
    Run("3 ranks, any number of calls", "-DRANKS=3"),
    Run("3 ranks, a crash, 3 calls", "-DRANKS=3 -DCRASHES=1 -DCALLS=3", large=True),
    Run("3 ranks, one of which strays, 2 calls", f"-DRANKS=3 -DDISAGREE=1 -DCALLS=2 {WITHOUT_PUT}", large=True),
)
LONG = (
    Run("3 ranks, a crash, any number of calls", "-DRANKS=3 -DCRASHES=1", large=True),
    Run("3 ranks, a crash, any number of calls of up to 5 pieces through 4 slots, without the ring",
        "-DRANKS=3 -DCRASHES=1 -DSLOTS=4 -DALL_PIECES=5 -DLONG_PIECES=5 -DPLANS=254", large=True),
    Run("3 ranks, any number of calls of up to 5 pieces through 4 slots", "-DRANKS=3 -DSLOTS=4 -DALL_PIECES=5", large=True),
    Run("3 ranks, one of which strays, 3 calls, without the ring", "-DRANKS=3 -DDISAGREE=1 -DCALLS=3 -DPLANS=126", large=True),
    Run("3 ranks, one of which strays, 4 calls, broadcasts and an inline all-reduce", "-DRANKS=3 -DDISAGREE=1 -DCALLS=4 -DPLANS=28", large=True),
    Run("2 ranks, a crash, 6 calls, nothing forgotten, without put and ring", "-DRANKS=2 -DCRASHES=1 -DCALLS=6 -DFORGET=0 -DPLANS=126", large=True),
)

SLOT = r"assertion violated \(slot"
LINE = r"assertion violated \(line"
BLAMED = r"assertion violated .*culprit|assertion violated .*gone"
STUCK = "invalid end state"
CALM = "-DRANKS=2 -DCALLS=4"
CRASH = "-DRANKS=2 -DCALLS=4 -DCRASHES=1"
STRAY = f"-DRANKS=2 -DCALLS=4 -DDISAGREE=1 {WITHOUT_PUT}"
MUTANTS = {
    "NO_RULE": (CALM, SLOT),
    "RULE_LATE": (CALM, SLOT),
    "RULE_OF_ONE": ("-DRANKS=3 -DCALLS=4", SLOT),
    "CREDIT_HEARD": (CALM, SLOT),
    "DONE_EARLY": (CALM, SLOT),
    "CREDIT_EARLY": (CALM, SLOT),
    "NO_CREDIT": (CALM, SLOT),
    "SIGNAL_FIRST": (CALM, SLOT),
    "RING_UNLIKE": (CALM, SLOT),
    "NO_PARITY": (CALM, SLOT),
    "HALF_KEPT": (CALM, SLOT),
    "HALVES_UNLIKE": (CALM, SLOT),
    "CALL_FORGOTTEN": (CALM, SLOT),
    "FLAG_FIRST": (CALM, LINE),
    "ANY_ORDER": (CALM, LINE),
    "NO_LOOK": (CRASH, STUCK),
    "NO_LOOK_ENTERING": (CRASH, STUCK),
    "BLAME_FINISHED": (CRASH, BLAMED),
    "DONE_FIRST": (CRASH, BLAMED),
    "BLAME_MESSENGER": ("-DRANKS=3 -DCALLS=3 -DCRASHES=1", BLAMED),
    "NO_HISTORY": (STRAY, f"{SLOT}|{LINE}"),
    "CALL_ALONE": (STRAY, f"{SLOT}|{LINE}"),
    "NO_RECORDS": (STRAY, STUCK),
    "FAIL_SILENTLY": (STRAY, STUCK),
    "FINISH_ANYHOW": ("-DRANKS=3 -DCALLS=3 -DDISAGREE=1 -DPLANS=74", STUCK),
}
# Wrong by its bounds: the all-reduce asks nobody for credits, since with 4 slots it needs none. With 3 it would.
TOO_FEW_SLOTS = Run("an all-reduce of 4 pieces through 3 slots", f"{CALM} -DALL_PIECES=4", SLOT)

# What the model stands for: its words for it (in one of its files), and the lines of the code, each once in its file.
MIRRORED = (
    ("Run::enter", "src/executor/run_steps.hpp", "if (context.entered_by_all + 1 < call_ && call_ > 2) {"),
    ("Context::entered", "src/executor/run_steps.hpp", "context.entered[rank] + 1 >= call_) continue;"),
    ("`done` word is read", "src/executor/run_steps.hpp", "done.load(std::memory_order_acquire) + 2 < call_) return false;"),
    ("Run::finish", "src/executor/run_steps.hpp", "status(context.rank()).done.store(call_,"),
    ("entered_by_all", "src/executor/run_steps.hpp", "context.entered_by_all = call_;"),
    ("Run::begin", "src/executor/run_steps.hpp", "halves.earlier * executable.slots_per_call % executable.ring_slots"),
    ("Context::turn", "src/executor/context.hpp", "std::swap(bases_[0][base_staging + writer], bases_[1][base_staging + writer]);"),
    ("Context::bases_", "src/executor/context.hpp", "return {bases_[written_together_ & 1].data(), calls >> 1,"),
    ("Run::slot_of", "src/executor/run.hpp", "(first_slot_ + piece) % executable_->ring_slots"),
    ("Run::signal", "src/executor/run_steps.hpp", "line.progress.store((call_ << progress_call_shift) + turn * step.stride + step.position,"),
    ("Run::wait", "src/executor/run_steps.hpp", "static_cast<std::int64_t>(progress - target) >= 0) break;"),
    ("LaneLine::digest", "src/executor/run_steps.hpp", "line.digest[parity_].load(std::memory_order_relaxed) != flag()"),
    ("Run::write_record", "src/executor/run_steps.hpp", "if constexpr (digests) write_record();"),
    ("Run::poll_line", "src/executor/run_inline.hpp", "if (seen == flag()) {"),
    ("Run::inline_gather", "src/executor/run_inline.hpp", "BasicRun<digests>::inline_gather(const ExecStep& step"),
    ("fill_line", "src/executor/small_copy.hpp", "line.flag.store(flag,"),
    ("Run::advance_lanes", "src/executor/run_steps.hpp", "BasicRun<digests>::advance_lanes(std::uint32_t spins)"),
    ("Executable::hears", "src/executor/compile.cpp", "if (lag != 0) return;  // only heard from when there are pieces enough"),
    ("Executable::ring_slots", "src/executor/compile.cpp", "out_.slots_per_call = std::min(out_.pieces, out_.ring_slots);"),
    ("find_mismatch", "src/communicator/diagnose.cpp", "theirs.sequence != own.sequence || theirs.digest == own.digest) continue;"),
    ("find_lost_peer", "src/communicator/diagnose.cpp", "if (!lost || (finished && state != MemberState::aborted)) continue;"),
    ("Communicator::Impl::blame", "src/communicator/diagnose.cpp", "return last_words(peer);"),
    ("Communicator::Impl::fail", "src/communicator/failure.cpp", "status.state.store(static_cast<std::uint64_t>(state),"),
)
# `done` is read behind `state`, and that behind the hang-up: their lines come in this order.
IN_ORDER = ("src/communicator/diagnose.cpp", ("transport->gone(peer)", "const auto state =", "const bool finished ="))


def drifted():
    """What the model claims to stand for and the code no longer has, or the model no longer names."""
    model = "".join((HERE / name).read_text() for name in MODEL)
    for name, file, line in MIRRORED:
        count = (ROOT / file).read_text().count(line)
        if count != 1:
            yield f"{file} has '{line}' {count} times: does the model's {name} still stand for it?"
        if name not in model:
            yield f"the model doesn't say what stands for {name} of {file}"
    file, lines = IN_ORDER
    places = [(ROOT / file).read_text().find(line) for line in lines]
    if -1 in places or places != sorted(places):
        yield f"{file} no longer has {lines} in this order"


def mutants():
    """Each rule that words.pml can break, with the configuration that must show it."""
    text = (HERE / "words.pml").read_text()
    text = text[text.index("/* Rules that a MUTANT breaks."):]
    numbers = dict(re.findall(r"^#define (\w+) (\d+)(?: |$)", text[:text.index("#define SPAN")], re.M))
    if numbers.keys() != MUTANTS.keys():
        raise SystemExit(f"check_model.py: words.pml and check_model.py don't have the same mutants: {numbers.keys() ^ MUTANTS.keys()}")
    for name, (flags, wrong) in MUTANTS.items():
        yield Run(name, f"{flags} -DMUTANT={numbers[name]}", wrong)


def report_of(run, folder, megabytes):
    """What Spin says of a configuration."""
    for name in MODEL:
        shutil.copy(HERE / name, folder)
    subprocess.run(["spin", "-a", *run.flags.split(), "slots.pml"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    optimised = "-O2" if run.large else "-O0"
    subprocess.run(["gcc", optimised, "-w", "-DSAFETY", "-DCOLLAPSE", f"-DMEMLIM={megabytes}", "-o", "pan", "pan.c"], cwd=folder, check=True)
    return subprocess.run(["./pan", f"-m{DEPTH}", "-w22"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def check(run, megabytes):
    """Whether the verdict is what it must be; prints it with the number of states."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = report_of(run, folder, megabytes)
    states = re.search(r"(\d+) states, stored", report)
    errors = re.search(r"errors: (\d+)", report)
    found = re.search(r"pan:\d+: (.*)", report)
    if run.wrong:
        good = errors is not None and errors.group(1) != "0" and found is not None and re.search(run.wrong, found.group(0)) is not None
    else:
        # All of it was seen: neither depth nor memory ran out, and nothing was left out by hashing.
        cut = re.search(r"max search depth too small|MEMLIM|out of memory|Search not completed|Bit statespace|truncated", report)
        good = errors is not None and errors.group(1) == "0" and found is None and cut is None and "Full statespace search" in report
    count = f"{int(states.group(1)):>11,}" if states else "          ?"
    what = f"found: {run.what}" if run.wrong else run.what
    print(f"{'ok ' if good else 'BAD'} {count} states {time.monotonic() - began:6.1f} s  {what}  [{run.flags}]", flush=True)
    if not good:
        print(f"    expected {'an error like ' + run.wrong if run.wrong else 'no error in a complete search'}; Spin says:\n{report[:1500]}", flush=True)
    return good


def main(arguments):
    if arguments not in ([], ["long"]):
        print("usage: check_model.py [long]", file=sys.stderr)
        return 2
    for program in ("spin", "gcc"):
        if shutil.which(program) is None:
            print(f"check_model.py: {program} isn't installed, and without it the slot protocol isn't checked (apt-get install {program})", file=sys.stderr)
            return 2
    faults = list(drifted())
    for fault in faults:
        print(f"BAD {fault}")
    verdicts = [check(run, BOUNDED_MB) for run in (*RIGHT, *mutants(), TOO_FEW_SLOTS)]
    if arguments:
        verdicts += [check(run, LONG_MB) for run in LONG]
    print(f"{sum(verdicts)} of {len(verdicts)} configurations as they must be, {len(faults)} lines of the code that the model doesn't stand for any more")
    return 0 if all(verdicts) and not faults else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
