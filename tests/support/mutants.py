"""Whether a simulation finds each of many faults in the sources that it simulates."""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


class Simulation:
    """A program: `sources` (mutated) and `world` (not), both relative to the repository; run with `arguments` it exits with 0 when it finds nothing wrong."""

    def __init__(self, compiler, sources, world, arguments, libraries=()):
        self.compiler = [compiler, "-std=c++20", "-O1", f"-I{ROOT}/include", f"-I{ROOT}/src", f"-I{ROOT}/tests"]
        self.sources = {name: (ROOT / name).read_text(encoding="utf-8") for name in sources}
        self.world = world
        self.arguments = arguments
        self.libraries = [part for library in libraries for part in (str(library), f"-Wl,-rpath,{Path(library).parent}")]

    def compile_world(self, folder):
        """The object files of the world, and of the sources as they are."""
        for part in [*self.world, *self.sources]:
            subprocess.run([*self.compiler, "-c", str(ROOT / part), "-o", str(self.object_of(folder, part))], check=True)

    @staticmethod
    def object_of(folder, part):
        return folder / (Path(part).name + ".o")

    def finds_nothing(self, folder, changed=None, text=""):
        """With `changed` replaced by `text`."""
        objects = {part: str(self.object_of(folder, part)) for part in [*self.world, *self.sources]}
        if changed is not None:
            source = folder / Path(changed).name
            source.write_text(text, encoding="utf-8")
            objects[changed] = str(source)
        program = folder / "simulate"
        subprocess.run([*self.compiler, *objects.values(), *self.libraries, "-o", str(program)], check=True)
        run = subprocess.run([str(program), *self.arguments], stdout=subprocess.DEVNULL, timeout=300)
        return run.returncode == 0

    def wrong(self, mutants):
        """What is wrong with the simulation, a line each. `mutants`: what is broken, the text that says it, and what stands there instead."""
        lines = []
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self.compile_world(folder)
            if not self.finds_nothing(folder):
                lines.append("the sources as they are fail the simulation")
            for what, old, new in mutants:
                holders = [name for name, source in self.sources.items() if source.count(old) == 1]
                if len(holders) != 1:
                    lines.append(f"'{what}': its text is there {sum(source.count(old) for source in self.sources.values())} times: {old}")
                elif self.finds_nothing(folder, holders[0], self.sources[holders[0]].replace(old, new)):
                    lines.append(f"the simulation doesn't find that {what}")
        return lines


def report(lines):
    """The exit status."""
    for line in lines:
        print(f"check_mutants.py: {line}", file=sys.stderr)
    return 1 if lines else 0
