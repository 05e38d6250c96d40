"""The programs of examples/programs/: what each says about itself in lines of its head, for tests and benchmarks.

    #: shapes   x=MxN g=N        every input: capital letters are sizes, to be chosen; numbers are what they are
    #: types    f32 bf16 q=i8    of all tensors, each a case; NAME=TYPE: of an input or output that has its own
    #: values   t=0.05:3         an input's range (uniform; without it: normal); mask=causal: 0, and -inf above the
                                 diagonal of the last two axes
    #: elements x=nan x=-inf     special values that the definition covers, one a row
    #: rows     x=0              rows of nothing else
    #: params   eps=0.5          other values than the program's, for one more case
    #: bench    M=8192 N=4096 f32 bf16      sizes and types worth timing; several lines are several cases

shapes, types and bench are required; a line of another kind is an error.
"""
import glob
import os

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "programs")
KINDS = ("shapes", "types", "values", "elements", "rows", "params", "bench")


def pairs(words):
    return [tuple(word.split("=", 1)) for word in words]


class Program:
    def __init__(self, path):
        self.path, self.name = os.path.normpath(path), os.path.basename(path)[:-len(".kf")]
        with open(path) as file:
            self.text = file.read()
        lines = {kind: [] for kind in KINDS}
        for line in self.text.splitlines():
            if line.startswith("#:"):
                kind, *words = line[2:].split()
                if kind not in lines:
                    raise ValueError(f"{path}: '#: {kind}' is none of {', '.join(KINDS)}")
                lines[kind].append(words)
        for kind in ("shapes", "types", "bench"):
            if not lines[kind]:
                raise ValueError(f"{path}: no line '#: {kind}'")
        self.take({kind: [word for words in lists for word in words] for kind, lists in lines.items()})
        self.bench = [self.bench_case(words) for words in lines["bench"]]

    def take(self, words):
        self.shapes = {name: shape.split("x") for name, shape in pairs(words["shapes"])}
        self.types = [word for word in words["types"] if "=" not in word]
        self.own_types = dict(pairs(word for word in words["types"] if "=" in word))
        self.values, self.params = dict(pairs(words["values"])), dict(pairs(words["params"]))
        self.elements, self.rows = pairs(words["elements"]), pairs(words["rows"])
        dims = [dim for shape in self.shapes.values() for dim in shape]
        self.symbols = list(dict.fromkeys(dim for dim in dims if dim.isupper()))

    def bench_case(self, words):
        sizes = {symbol: int(size) for symbol, size in pairs(word for word in words if "=" in word)}
        if sorted(sizes) != sorted(self.symbols):
            raise ValueError(f"{self.path}: bench must give {' '.join(self.symbols)}")
        return sizes, [word for word in words if "=" not in word]

    def sized(self, sizes):
        """Shapes of the inputs by name, where `sizes` maps symbols to numbers."""
        return {name: tuple(sizes[dim] if dim in sizes else int(dim) for dim in shape)
                for name, shape in self.shapes.items()}

    def type_of(self, name, plain):
        return self.own_types.get(name, plain)


def span(values, name):
    """(low, high) of an input that has a range, else None."""
    low, colon, high = values.get(name, "").partition(":")
    return (float(low), float(high)) if colon else None


def programs(names=()):
    """All of them, or those named; an unknown name is an error."""
    found = {p.name: p for p in map(Program, sorted(glob.glob(os.path.join(FOLDER, "*.kf"))))}
    for name in names:
        if name not in found:
            raise ValueError(f"no program '{name}' in {os.path.normpath(FOLDER)}: {', '.join(found)}")
    return [found[name] for name in names] if names else list(found.values())
