"""An algorithm of one's own: written as a plan, proved, run, and saved for `rondo verify` and `rondo-bench --plan`.

    write_an_algorithm.py [--ranks 4] [--save plan.json]

A parameter server: all ranks send what they have to rank 0, which adds it up and sends the sum back. docs/write-an-algorithm.md goes through it.
"""

import argparse
import json
from pathlib import Path

import numpy
import rondo


def parameter_server(ranks):
    """An all_reduce. Link (r, 0) leads to rank r where it is written, and from rank r where it is read."""
    links = [f"link({rank},0)" for rank in range(1, ranks)]
    server = [{"reduce": ["input[0]", *links], "to": ["output[0]", *links], "finish": True}]
    worker = [{"copy": "input[0]", "to": ["link(0,0)"]}, {"copy": "link(0,0)", "to": ["output[0]"]}]
    programs = [{"rank": rank, "lanes": [server if rank == 0 else worker]} for rank in range(ranks)]
    return {"rondo_plan": 1, "algorithm": "parameter_server", "collective": "all_reduce", "ranks": ranks, "programs": programs}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--save", type=Path, metavar="FILE")
    given = parser.parse_args()

    plan = parameter_server(given.ranks)
    proof = rondo.verify(plan)
    for violation in proof.violations:
        print(f"wrong: rank {violation.rank}, step {violation.step}: {violation.message}")
    if not proof.proved:
        return 1
    print(f"proved: {proof.chunk_steps} chunk-steps, safe with {proof.least_safe_depth} slots")

    arrays = [numpy.arange(10.0) * (rank + 1) for rank in range(given.ranks)]
    results = rondo.run(plan, arrays)
    right = all(numpy.array_equal(result, sum(arrays)) for result in results)
    print(f"run by {given.ranks} threads: {'right' if right else 'wrong'}")
    if given.save:
        given.save.write_text(json.dumps(plan))
    return 0 if right else 1


if __name__ == "__main__":
    raise SystemExit(main())
