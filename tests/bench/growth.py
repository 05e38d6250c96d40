#!/usr/bin/env python3
"""How time and memory grow with the work: chain length, inputs, outputs, reductions, candidates, jobs.

In: nothing; $KFUSE or build/release/kfuse. Out: a table per series with the ratio per doubling between
neighbouring sizes, and a list of what grows faster than LIMIT. One idea: a series is a function from a
size to a command, so that a new one is a line. Groups (all if none is named):

  compile   the compiler alone (dump), no device
  nvrtc     NVRTC on the emitted file (skipped where there is none)
  tune      the whole of a tuning run on --device null; on the CPU with --device cpu, on a GPU with cuda
"""
import argparse
import ctypes
import math
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

LIMIT = 2.2  # times as long for twice the work
FLOOR = 0.02  # seconds: below, a process's start is what is measured
HERE = os.path.dirname(os.path.abspath(__file__))
KFUSE = os.environ.get("KFUSE", os.path.join(HERE, "../../build/release/kfuse"))


# --- programs of size n


def statements(first, step, n, last):
    return "\n".join([first] + [step.format(i=i, j=i + 1) for i in range(n)] + [last.format(n=n)]) + "\n"


def chain(n):
    return statements("t0 = x", "t{j} = t{i} * 1.5 + {j}", n, "return t{n}")


def functions(n):
    return statements("t0 = x", "t{j} = tanh(t{i}) + x", n, "return t{n}")


def inputs(n):
    return " + ".join("a%d" % i for i in range(n)) + "\n"


def outputs(n):
    return statements("t0 = x", "t{j} = t{i} * 0.5 + {j}", n,
                      "return " + ", ".join("t%d" % (i + 1) for i in range(n)))


def rows(n):
    return statements("t0 = x", "t{j} = t{i} - max(t{i}) * 0.5", n, "return t{n}")


def columns(n):
    return statements("t0 = x", "t{j} = t{i} + mean(t{i}, axis=0)", n, "return t{n}")


def backward(n):
    text = statements("t0 = x", "t{j} = t{i} * g + b", n, "return t{n}")
    words = [KFUSE, "grad", "-f", "-", "--wrt", "x,g,b"]
    return subprocess.run(words, input=text, capture_output=True, text=True, check=True).stdout


# --- one run: seconds, peak MiB of the parent and of its largest worker


def status(pid, field):
    with open("/proc/%d/status" % pid) as file:
        for line in file:
            if line.startswith(field):
                return int(line.split()[1])
    return 0


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        return [int(word) for word in file.read().split()]


def watch(process, peaks):
    while process.poll() is None:
        try:
            peaks[0] = max(peaks[0], status(process.pid, "VmHWM"))
            for pid in children(process.pid):
                peaks[1] = max(peaks[1], status(pid, "VmHWM"))
        except (OSError, IndexError, ValueError):
            pass
        time.sleep(0.003)


def run(words, text):
    store = tempfile.mkdtemp(prefix="kfuse-growth-")
    environment = dict(os.environ, KFUSE_CACHE=store, XDG_CONFIG_HOME=store)
    peaks = [0, 0]
    begin = time.monotonic()
    process = subprocess.Popen([KFUSE] + words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment)
    watcher = threading.Thread(target=watch, args=(process, peaks))
    watcher.start()
    out, error = process.communicate(text)
    seconds = time.monotonic() - begin
    watcher.join()
    shutil.rmtree(store, ignore_errors=True)
    if process.returncode != 0:
        raise RuntimeError("%s: exit %d: %s" % (" ".join(words), process.returncode, error.strip()[:200]))
    return seconds, peaks[0] / 1024, peaks[1] / 1024, out


def best(times, words, text):
    """The fastest of some runs: machines are shared."""
    runs = [run(words, text) for _ in range(times)]
    return min(runs, key=lambda one: one[0])


# --- series


def compiling(program, stage, shape="1024x1024"):
    def measure(n):
        text = program(n)
        return best(3, ["dump", stage, "-f", "-", "--shape", shape], text)
    return measure


def tuning(program, options, device, shape="64x64"):
    def measure(n):
        words = ["-f", "-", "--shape", shape, "--device", device, "--quiet", "--json"]
        return best(3 if device == "null" else 1, words + options(n), program(n))
    return measure


def nvrtc_compile(library, text):
    program = ctypes.c_void_p()
    options = [b"--gpu-architecture=sm_90", b"--fmad=false", b"--std=c++17", b"-default-device", b"--minimal",
               b"--no-cache"]
    library.nvrtcCreateProgram(ctypes.byref(program), text, b"growth.cu", 0, None, None)
    begin = time.monotonic()
    result = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    seconds = time.monotonic() - begin
    library.nvrtcDestroyProgram(ctypes.byref(program))
    if result != 0:
        raise RuntimeError("NVRTC: error %d" % result)
    return seconds


def nvrtc(program, shape="1024x1024"):
    def measure(n):
        out = run(["dump", "--cuda", "-f", "-", "--shape", shape], program(n))[3]
        part = out.split("// ---- kernel ")[0 if "// ---- kernel " not in out else 1]
        text = (part.split("----\n", 1)[-1]).encode()
        return min(nvrtc_compile(library, text) for _ in range(3)), 0, 0, ""
    try:
        library = ctypes.CDLL("libnvrtc.so.13")
    except OSError:
        return None
    nvrtc_compile(library, b"extern \"C\" __global__ void k() {}")
    return measure


def all_series(device):
    wide = ["--budget", "100"]
    counts = [16, 64, 256, 512, 1024] if device == "null" else [8, 16, 32, 64]
    return {
        "compile": [
            ("chain, CUDA text", [1, 10, 100, 250, 500, 1000], compiling(chain, "--cuda")),
            ("chain, C text", [1, 10, 100, 250, 500, 1000], compiling(chain, "--c")),
            ("chain, ways to cut it", [1, 10, 100, 250, 500, 1000], compiling(chain, "--groups")),
            ("tanh chain, CUDA text", [1, 10, 100, 250, 500], compiling(functions, "--cuda")),
            ("inputs, CUDA text", [1, 25, 50, 100, 200], compiling(inputs, "--cuda")),
            ("outputs, CUDA text", [1, 16, 32, 64], compiling(outputs, "--cuda")),
            ("row reductions, ways to cut", [1, 64, 250, 500, 1000], compiling(rows, "--groups")),
            ("axis=0 reductions, ways to cut", [1, 64, 250, 500, 1000], compiling(columns, "--groups")),
            ("backward chain, ways to cut", [1, 10, 100, 500, 1000], compiling(backward, "--groups")),
        ],
        "nvrtc": [
            ("chain", [1, 10, 100, 250, 500, 1000], nvrtc(chain)),
            ("inputs", [1, 25, 50, 100, 200], nvrtc(inputs)),
        ],
        "tune": [
            ("candidates", counts,
             tuning(lambda n: "tanh(x * b) + c\n", lambda n: wide + ["--trials", str(n), "--effort", "full"], device)),
            ("jobs (for as much work)", [1, 2, 4, 8],
             tuning(lambda n: "tanh(x) + b\n", lambda n: wide + ["--jobs", str(n)], device)),
            ("chain", [1, 10, 100, 250, 500, 1000],
             tuning(chain, lambda n: wide + ["--trials", "8"], device)),
            ("inputs", [1, 25, 50, 100, 200],
             tuning(inputs, lambda n: wide + ["--trials", "8"], device, "32x32")),
            ("kernels of a program", [1, 4, 8, 16],
             tuning(columns, lambda n: wide + ["--trials", "4"], device)),
        ],
    }


# --- the table


def per_doubling(before, after):
    """Ratio of times for twice the work; None where both are the process's start."""
    (n, a), (m, b) = before, after
    if b < 4 * FLOOR:
        return None
    return (b / max(a, FLOOR)) ** (math.log(2) / math.log(m / n))


def show(name, sizes, measure):
    worst, before = None, None
    print("\n%s\n  %8s %10s %12s %12s %14s" % (name, "size", "seconds", "parent MiB", "worker MiB", "per doubling"))
    for n in sizes:
        try:
            seconds, parent, worker, _ = measure(n)
        except RuntimeError as error:
            print("  %8d   %s" % (n, error))
            return worst
        ratio = per_doubling(before, (n, seconds)) if before else None
        print("  %8d %10.3f %12.1f %12.1f %14s"
              % (n, seconds, parent, worker, "%.2f" % ratio if ratio else "-"), flush=True)
        worst = max(worst or 0, ratio or 0)
        before = (n, seconds)
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", help="compile, nvrtc, tune")
    parser.add_argument("--device", default="null", help="where tuning runs (null, cpu, cuda)")
    parser.add_argument("--only", default="", help="series whose names hold this")
    options = parser.parse_args()
    too_fast, groups = [], all_series(options.device)
    for name in options.groups:
        if name not in groups:
            parser.error(f"there is no group '{name}': choose from {', '.join(groups)}")
    for group, series in groups.items():
        if options.groups and group not in options.groups:
            continue
        print("\n== %s" % group)
        for name, sizes, measure in series:
            if options.only not in name or measure is None:
                continue
            worst = show(name, sizes, measure)
            if worst and worst > LIMIT and "jobs" not in name:
                too_fast.append("%s: %s: %.2f" % (group, name, worst))
    print("\nfaster than %.1f per doubling: %s" % (LIMIT, "; ".join(too_fast) or "nothing"))
    return 1 if too_fast else 0


if __name__ == "__main__":
    sys.exit(main())
