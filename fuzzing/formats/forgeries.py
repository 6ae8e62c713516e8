"""Forgeries: small files that are consistent in themselves and ask for a lot, which no chance would make.

Each function takes a valid sample and returns others made from it; their checksums are fitted afterwards.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from foregone.plurality.lattice import count_states
from fuzzing.formats.seals import container_header, put_container_header
from fuzzing.mutations import MOST_BYTES, Files

__all__ = ["many_labels", "many_rows", "many_states", "many_stops", "many_voters", "spark_sizes"]

LATTICES = ((10**6, 1), (3_000, 2), (200, 3), (90, 4), (60, 5), (40, 40))
SIZES_WITHOUT_STATES = ((2**20, 2), (2**25, 2), (2**25, 2**25), (2**53, 1), (2**53, 2**53))
SIZES = (2**20, 2**31 - 1, 2**31, 10**12, 2**53, 10**30)
N_LABELS, WIDE_TYPE = 50_000, "U9999"
N_VOTES, N_NODES = 2_000_000, 500_000


def _edit(sample: Files, **changes: Any) -> Files:
    """Return a sample of one JSON file with some fields changed."""
    ((name, content),) = sample.items()
    return {name: json.dumps({**json.loads(content), **changes}).encode()}


def many_voters(sample: Files) -> list[Files]:
    """Claim many voters, without and with thresholds for all of them."""
    claimed = [_edit(sample, n_voters=size) for size in SIZES]
    n = 20_000
    steps = {"n_voters": n, "lower": [-1] * n + [n // 2], "upper": [*range(1, n + 1), n // 2 + 1]}
    return [*claimed, _edit(sample, **steps), _edit(sample, **steps, exceptions=[[5, 3, 0.5]] * 50_000)]


def many_stops(sample: Files) -> list[Files]:
    """Claim tables of stops with many classes, many voters, and both."""
    sides = [(2, size) for size in SIZES] + [(size, 6) for size in SIZES] + [(size, size) for size in SIZES]
    return [_edit(sample, shape=list(shape)) for shape in [*sides, (0, 2**53), (2**53, 0)]]


def many_states(sample: Files) -> list[Files]:
    """Claim lattices of many states, with a bit for each where the file has room for them."""
    claimed = [_edit(sample, n_voters=n, n_classes=k, stops="") for n, k in SIZES_WITHOUT_STATES]
    for n, k in LATTICES:
        n_bytes = -(-int(count_states(n, k)) // 8)
        if n_bytes < MOST_BYTES // 2:
            bits = base64.b64encode(b"\xff" * n_bytes).decode()
            claimed.append(_edit(sample, n_voters=n, n_classes=k, stops=bits, exceptions=[]))
    return claimed


def many_labels(sample: Files) -> list[Files]:
    """Give many short labels a wide type; claim many columns and trees."""
    ((name, content),) = sample.items()
    (place,) = container_header(content)
    wide = [[WIDE_TYPE, str(k)] for k in range(N_LABELS)]
    changes = [
        ("classes", wide),
        *(("n_features", size) for size in SIZES),
        *(("n_trees", size) for size in SIZES),
    ]
    forged = []
    for key, value in changes:
        header = json.loads(content[place])
        fields = header["fields"]
        holder = next((part for part in (fields, fields.get("forest")) if part and key in part), fields)
        holder[key] = value
        forged.append({name: put_container_header(content, place, json.dumps(header).encode())})
    return forged


def spark_sizes(sample: Files) -> list[Files]:
    """Claim many columns, trees and classes, and repeat a node many times."""
    (head,) = (name for name in sample if name.startswith("metadata"))
    (data,) = (name for name in sample if name.startswith("data"))
    fields = json.loads(sample[head])
    claimed = [
        {**sample, head: json.dumps({**fields, key: size}).encode()}
        for key in ("numFeatures", "numTrees")
        for size in SIZES
    ]
    nodes = parquet.read_table(io.BytesIO(sample[data])).take([0] * N_NODES)
    return [*claimed, {**sample, data: _parquet(nodes)}]


def many_rows(sample: Files) -> list[Files]:
    """Repeat a vote many times in Parquet, which takes next to no room there."""
    columns = {"item": ["x" * 100] * N_VOTES, "draw": [1] * N_VOTES, "answer": ["yes"] * N_VOTES}
    return [{"votes": _parquet(pa.table(columns))}]


def _parquet(rows: pa.Table) -> bytes:
    stream = io.BytesIO()
    parquet.write_table(rows, stream, compression="zstd")
    return stream.getvalue()


def forge_from(*forgers: Callable[[Files], list[Files]]) -> Callable[[list[Files]], list[Files]]:
    """Return a function that makes forgeries of the first sample."""
    return lambda samples: [forged for forger in forgers for forged in forger(samples[0])]
