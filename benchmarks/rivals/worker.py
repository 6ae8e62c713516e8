"""A rival in an environment of its own. It is run by path, and imports nothing of this project.

It is started with the name of an engine, the file of a model, a number of threads and a file of rows, and
reads one command a line: ``labels FILE`` writes the labels of all rows, ``time batch|rows CALLS`` answers
with the seconds of a call with all rows, or with one of them.
"""

import json
import sys
import time

import numpy as np


def lleaves(path, threads):
    import lleaves as package

    model = package.Model(model_file=path)
    model.compile(cache=f"{path}.lleaves")
    wanted = {"n_jobs": threads}
    return lambda rows: rows.astype(np.float64), lambda rows: model.predict(rows, **wanted), above_half


def nvforest(path, threads):
    import nvforest as package
    import treelite

    model = package.load_from_treelite_model(treelite.Model.deserialize(path), device="cpu")
    chosen = {}

    def predict(rows):
        n_rows = len(rows)
        if n_rows not in chosen:  # the best layout and chunk size for so many rows
            chosen[n_rows] = model.optimize(batch_size=n_rows, unique_batches=1, timeout=0.1)
        return chosen[n_rows].predict_proba(rows)

    def labels(said):
        said = np.asarray(said).reshape(len(said), -1)
        return above_half(said[:, 0]) if said.shape[1] == 1 else said.argmax(axis=1)

    return np.ascontiguousarray, predict, labels


def onnx(path, threads):
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    wanted, given = [session.get_outputs()[0].name], session.get_inputs()[0].name
    return lambda rows: {given: rows}, lambda feed: session.run(wanted, feed)[0], np.asarray


def above_half(said):
    return (np.asarray(said) > 0.5).astype(np.int64)


def main(name, model, threads, file):
    rows = np.load(file)
    prepare, predict, labels = {"lleaves": lleaves, "nvforest": nvforest, "onnx": onnx}[name](
        model, int(threads)
    )
    batch, alone = [prepare(rows)], [prepare(rows[k : k + 1]) for k in range(min(1000, len(rows)))]
    tell({"ready": True})
    for line in sys.stdin:
        command, *words = line.split()
        if command == "labels":
            np.save(words[0], labels(predict(batch[0])))
            tell({"one_by_one": [int(labels(predict(row))[0]) for row in alone[:5]]})
        else:
            prepared, calls = (batch if words[0] == "batch" else alone), int(words[1])
            began = time.perf_counter()
            for number in range(calls):
                predict(prepared[number % len(prepared)])
            tell({"seconds": (time.perf_counter() - began) / calls})


def tell(answer):
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
