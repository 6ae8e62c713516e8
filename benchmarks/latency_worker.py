"""A process that serves one row at a time, for `benchmarks.latency`. It is run by path.

It is started with what to serve (``foregone``, ``scikit-learn`` or ``onnx``), the file of a model, a file of
rows, a number of threads and a number of calls for each. It says what it takes of memory, waits for a line,
makes the calls, writes the nanoseconds of each to the file that the line names and says how long all took.
"""

import json
import sys
import threading
import time
from pathlib import Path

import numpy as np

WARM_CALLS = 300


def foregone(path):
    from foregone import EarlyStoppingClassifier

    return EarlyStoppingClassifier.load(path).predict


def scikit_learn(path):
    import joblib

    model = joblib.load(path)
    model.n_jobs = 1
    return model.predict


def onnx(path):
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    wanted, given = [session.get_outputs()[0].name], session.get_inputs()[0].name
    return lambda row: session.run(wanted, {given: row})


def memory():
    """Return the megabytes that this process holds, and those that no other process could share."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    sizes = {line.split(":")[0]: int(line.split()[1]) / 1e3 for line in lines[1:]}
    return sizes["Rss"], sizes["Private_Clean"] + sizes["Private_Dirty"]


def serve(predict, rows, nanoseconds):
    now = time.perf_counter_ns
    for number in range(len(nanoseconds)):
        row = rows[number % len(rows)]
        began = now()
        predict(row)
        nanoseconds[number] = now() - began


def main(what, model, file, n_threads, n_calls):
    predict = {"foregone": foregone, "scikit-learn": scikit_learn, "onnx": onnx}[what](model)
    batch = np.load(file)
    rows = [batch[k : k + 1].copy() for k in range(min(1000, len(batch)))]
    n_threads, n_calls = int(n_threads), int(n_calls)
    serve(predict, rows, [0] * min(WARM_CALLS, n_calls))
    print(json.dumps({"memory": memory()}), flush=True)
    # Lists, as an array's own checks would be timed, too.
    times = [[0] * n_calls for _ in range(n_threads)]
    target = sys.stdin.readline().strip()
    threads = [threading.Thread(target=serve, args=(predict, rows, part)) for part in times]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    np.save(target, np.array(times))
    print(json.dumps({"seconds": seconds}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
