"""How long a model takes and how long what kfuse made of it, side by side in ONNX Runtime on the CPU:
python3 speed.py MODEL.onnx KFUSE [options of kfuse onnx]. The sessions take turns of some milliseconds, the first third of
which is not counted (threads of the other session still spin); the medians are what is printed, on one and on two
threads. Above 1 the rewritten model is faster. Needs the packages onnx and onnxruntime."""
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from compare import open_session, options_dims, random_feeds, rewrite

SECONDS, TURN, RUNS = 8, 4e-3, 3  # in all, of a turn, in a turn at least


def bind(session, feeds):
    binding = session.io_binding()
    for name, array in feeds.items():
        binding.bind_cpu_input(name, array)
    for output in session.get_outputs():
        binding.bind_output(output.name)
    return lambda: session.run_with_iobinding(binding)


def turn(run):
    times = []
    while len(times) < RUNS or sum(times) < TURN:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return times[len(times) // 3:]


def medians(runs):
    times = [[] for _ in runs]
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        for own, run in zip(times, runs):
            own += turn(run)
    return [np.median(own) * 1e6 for own in times]


def main():
    model, kfuse, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
    with tempfile.TemporaryDirectory() as folder:
        new, library = rewrite(model, kfuse, folder, rest)
        for threads in 1, 2:
            sessions = open_session(model, None, threads), open_session(new, library, threads)
            feeds = random_feeds(sessions[0], options_dims(rest))
            old, made = medians([bind(session, feeds) for session in sessions])
            print(f"{Path(model).name} {threads} threads: {old:.1f} us, rewritten {made:.1f} us: {old / made:.2f}x")


if __name__ == "__main__":
    main()
