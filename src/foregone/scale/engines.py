"""Engines that score the parts of a file: local threads, Dask workers or Spark executors."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, Any

from foregone._system.worker_processes import n_cores
from foregone.errors import InvalidInputError, MissingExtraError
from foregone.scale.model_file import ModelFile

if TYPE_CHECKING:
    from foregone.scale.score_file import Scoring

__all__ = ["score_parts"]

Problems = Iterator[str | None]


def score_parts(
    engine: str, work: Scoring, numbers: list[int], model: ModelFile, jobs: int | None, cluster: str | None
) -> Problems:
    """Score the numbered parts; yield an error message, or None, for each part that ends.

    If the caller stops iterating, parts that have not started are cancelled.
    """
    if jobs is not None and jobs < 1:
        raise InvalidInputError(f"jobs must be at least 1, got {jobs}")
    jobs = jobs or n_cores()
    if engine == "local":
        if cluster is not None:
            raise InvalidInputError("cluster is only for the engines dask and spark: leave it out for local")
        return _in_threads(work, numbers, model, jobs) if numbers else iter(())
    if engine == "dask":
        return _on_dask(work, numbers, model, jobs, cluster) if numbers else iter(())
    if engine == "spark":
        return _on_spark(work, numbers, model, jobs, cluster) if numbers else iter(())
    raise InvalidInputError(f"engine must be local, dask or spark, got {engine!r}")


def _in_threads(work: Scoring, numbers: list[int], model: ModelFile, jobs: int) -> Problems:
    pool = ThreadPoolExecutor(min(jobs, len(numbers)))
    try:
        futures = [pool.submit(work.score_part, number, model) for number in numbers]
        for future in as_completed(futures):
            yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)


# Dask ----------------------------------------------------------------------------------------


def _on_dask(work: Scoring, numbers: list[int], model: ModelFile, jobs: int, cluster: str | None) -> Problems:
    try:
        from distributed import as_completed as as_completed_there
    except ImportError:
        raise MissingExtraError("distributed", "dask", "Scoring on Dask") from None
    with _dask_client(jobs, cluster) as client:
        shipped = client.scatter([(work, model)], broadcast=True, hash=False)[0]
        futures = client.map(_score_shipped, numbers, shipped=shipped, pure=False)
        try:
            for future in as_completed_there(futures, loop=client.loop):
                yield future.result()
                future.release()
        finally:
            client.cancel(futures)


def _score_shipped(number: int, shipped: tuple[Scoring, ModelFile]) -> str | None:
    work, model = shipped
    return work.score_part(number, model)


@contextlib.contextmanager
def _dask_client(jobs: int, address: str | None) -> Iterator[Any]:
    """Yield a client for the address, the current one, or one for a temporary local cluster."""
    from distributed import Client, LocalCluster

    if address is not None:
        try:
            client = Client(address, timeout=10, set_as_default=False)
        except (OSError, ValueError) as error:
            raise InvalidInputError(f"cannot connect to a Dask scheduler at {address}: {error}") from None
        with client:
            yield client
        return
    try:
        current = Client.current()
    except ValueError:
        current = None
    if current is not None:
        yield current
        return
    with (
        LocalCluster(
            n_workers=jobs, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.ERROR
        ) as here,
        Client(here, set_as_default=False) as client,
    ):
        yield client


# Spark ---------------------------------------------------------------------------------------


def _on_spark(
    work: Scoring, numbers: list[int], model: ModelFile, jobs: int, cluster: str | None
) -> Problems:
    """Score one part per Spark task; progress is read from the folder of finished parts."""
    with _spark_session(jobs, cluster) as spark:

        def score(batches: Iterator[Any]) -> Iterator[Any]:
            import pyarrow as pa

            for batch in batches:
                places = batch.column(0).to_pylist()
                problems = [work.score_part(numbers[place], model) for place in places]
                yield pa.record_batch([pa.array(problems, pa.string())], names=["problem"])

        tasks = spark.range(0, len(numbers), 1, len(numbers)).mapInArrow(score, "problem string")
        with ThreadPoolExecutor(1) as pool:
            collected = pool.submit(tasks.collect)
            seen: set[int] = set()
            while not collected.done():
                with contextlib.suppress(TimeoutError):
                    collected.exception(timeout=0.5)
                for number in set(numbers) - seen:
                    if work.finished.file(number).exists():
                        seen.add(number)
                        yield None
            problems = [row["problem"] for row in collected.result()]
        yield from (problem for problem in problems if problem is not None)
        yield from [None] * (problems.count(None) - len(seen))


@contextlib.contextmanager
def _spark_session(jobs: int, address: str | None) -> Iterator[Any]:
    """Yield a session for the address, the current one, or a temporary one."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError("pyspark", "spark", "Scoring on Spark") from None
    current = None if address else SparkSession.getActiveSession()
    if current is not None:
        yield current
        return
    builder = SparkSession.builder.appName("foregone score")
    if address is not None and address.startswith("sc://"):
        builder = builder.remote(address)
    else:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # executors here need foregone
        builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
        builder = builder.master(address or f"local[{jobs}]")
    try:
        spark = builder.getOrCreate()
    except Exception as error:  # Spark has no common class for: no Java, no such master, no such server
        reason = str(error).strip().splitlines()[0]
        raise InvalidInputError(
            f"Spark does not start ({reason}): install Java 17 or newer, or give a running --cluster"
        ) from None
    try:
        yield spark
    finally:
        spark.stop()
