from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

from foregone.errors import InvalidInputError
from foregone.scale import input_files, score_file
from foregone.scale.model_file import ModelFile, n_loads
from tests.classifier import models

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

from foregone.scale.dask import predict, predict_with_votes  # noqa: E402  # after the skips

pytestmark = pytest.mark.xdist_group("dask")  # one cluster is enough


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(params=["threads", "workers"])
def where(request):
    if request.param == "workers":
        request.getfixturevalue("client")
        yield
    else:
        with dask.config.set(scheduler="synchronous"):
            yield


@pytest.mark.parametrize("n_partitions", [1, 3, 40])
def test_frames_are_predicted_as_on_one_machine(n_partitions, where, frame, expected, classifier):
    shuffled = frame.sample(frac=1, random_state=n_partitions).set_index(frame.index * 7)
    want = expected.loc[frame.sample(frac=1, random_state=n_partitions).index]
    scored = predict_with_votes(dd.from_pandas(shuffled, n_partitions, sort=False), classifier)
    got = scored.compute()
    assert got["label"].tolist() == want["label"].tolist()
    assert got["votes_asked"].tolist() == want["votes_asked"].tolist()
    assert got.index.tolist() == shuffled.index.tolist()
    assert scored.npartitions == n_partitions
    assert got.dtypes.tolist() == scored.dtypes.tolist()


def test_labels_alone_are_a_series_with_the_frames_divisions(where, frame, expected, model_path):
    lazy = dd.from_pandas(frame, 5)
    labels = predict(lazy, model_path)
    assert labels.divisions == lazy.divisions
    assert labels.name == "label"
    assert labels.compute().tolist() == expected["label"].tolist()


def test_empty_partitions_survive(where, frame, expected, classifier):
    ordered = frame.sort_values("a")
    lazy = dd.from_pandas(ordered, 12, sort=False)
    some = lazy[lazy["a"] > ordered["a"].iloc[-130]]
    assert some.map_partitions(len).compute().tolist() == [0] * 10 + [29, 100]
    got = predict_with_votes(some, classifier).compute()
    pd.testing.assert_frame_equal(got, expected.loc[ordered.index[-129:]], check_dtype=False)
    assert len(predict(lazy[lazy["a"] > 1e9], classifier).compute()) == 0


@pytest.mark.parametrize("chunks", [(1200, 6), (77, 6), (100, 2), (1, 6)])
def test_arrays_are_predicted_by_block(chunks, where):
    X = models.fresh()[:1200] if chunks[0] > 1 else models.fresh()[:9]
    classifier = numbered()
    labels, asked = predict_with_votes(da.from_array(X, chunks=chunks), classifier)
    want = classifier.predict_with_votes(X)
    assert labels.chunks == asked.chunks == da.from_array(X, chunks=chunks).chunks[:1]
    assert labels.dtype == want[0].dtype
    got = dask.compute(labels, asked)
    np.testing.assert_array_equal(got[0], want[0])
    np.testing.assert_array_equal(got[1], want[1])
    unknown = da.from_array(X, chunks=chunks)
    unknown = unknown[unknown[:, 0] > 1e9]  # blocks of unknown length, and of none
    assert predict(unknown, classifier).compute().shape == (0,)


@pytest.mark.parametrize("chunks", [(1200, 6), (100, 2)])
def test_audited_rows_of_arrays_have_the_label_of_all_voters(chunks, where):
    X, classifier = models.fresh()[:1200], numbered()
    labels, asked, full = predict_with_votes(da.from_array(X, chunks=chunks), classifier, audit=0.2)
    got = dask.compute(labels, asked, full)
    want = classifier.predict_with_votes(X)
    np.testing.assert_array_equal(got[0], want[0])
    np.testing.assert_array_equal(got[1], want[1])
    audited = np.array([label is not None for label in got[2]])
    assert 150 < audited.sum() < 350
    assert got[2][audited].tolist() == classifier.full_predict(X)[audited].tolist()


def test_audits_are_a_column_of_labels_that_may_be_missing(where, frame, classifier):
    scored = predict_with_votes(dd.from_pandas(frame, 5), classifier, audit=0.2)
    assert scored.columns.tolist() == ["label", "votes_asked", "full_label"]
    got = scored.compute()["full_label"]
    full = classifier.full_predict(frame.drop(columns="key"))
    assert 150 < got.notna().sum() < 350
    assert got.dropna().tolist() == full[got.notna()].tolist()
    numbers = predict_with_votes(dd.from_pandas(pd.DataFrame(models.fresh()[:50]), 2), numbered(), audit=0.5)
    assert numbers.compute()["full_label"].dtype == numbers.dtypes["full_label"] == "Int64"
    with pytest.raises(InvalidInputError, match="audit must be a number from 0 to 1"):
        predict_with_votes(dd.from_pandas(frame, 5), classifier, audit=-1)


def numbered():
    from foregone import early_stop

    return early_stop(models.forest(), models.fresh()[:800], max_disagreement=0.05, random_state=0)


def test_the_graph_holds_the_model_once_or_with_a_cluster_not_at_all(request):
    frame, classifier = pd.DataFrame(models.fresh()[:1200]), numbered()

    def n_bytes(n_partitions):
        lazy = dd.from_pandas(frame, n_partitions)
        return len(pickle.dumps(dict(predict(lazy, classifier).optimize().dask))) - len(
            pickle.dumps(dict(lazy.optimize().dask))
        )

    size = len(ModelFile.of(classifier).content)
    assert size > 10_000
    with dask.config.set(scheduler="synchronous"):
        assert size <= n_bytes(1) < size + 5_000
        assert n_bytes(50) < size + 50 * 500
    request.getfixturevalue("client")
    assert n_bytes(50) < 50 * 500


def test_a_worker_loads_the_model_once(client, frame, classifier):
    before = client.run(n_loads)
    model = ModelFile.of(classifier)._replace(digest="of this test only")
    for n_partitions in (30, 17, 2, 2, 2, 2):  # results come and go, and the model with them
        predict(dd.from_pandas(frame, n_partitions), model).compute()
    after = client.run(n_loads)
    assert all(after[worker] - before[worker] <= 1 for worker in after)
    assert sum(after.values()) > sum(before.values())


def test_files_are_scored_by_a_cluster(client, frame, expected, model_path, tmp_path, monkeypatch):
    monkeypatch.setattr(input_files, "PART_ROWS", 150)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=100)
    address = client.scheduler.address
    for cluster in (None, address):
        made = score_file(
            model_path, tmp_path / "rows.parquet", tmp_path / "out.parquet", engine="dask", cluster=cluster
        )
        assert (made.rows, made.parts) == (1200, 6)
        pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out.parquet"), expected, check_dtype=False)
    frame.assign(a=np.inf).to_parquet(tmp_path / "rows.parquet", row_group_size=100)
    with pytest.raises(InvalidInputError, match=r"rows\.parquet: Input X contains infinity"):
        score_file(model_path, tmp_path / "rows.parquet", tmp_path / "out.parquet", engine="dask")


def test_columns_that_do_not_fit_are_named_before_anything_is_computed(frame, model_path):
    lazy = dd.from_pandas(frame, 2)
    with pytest.raises(InvalidInputError, match="the Dask frame has no column 'b', which the model needs"):
        predict(lazy.drop(columns="b"), model_path)
    with pytest.raises(InvalidInputError, match=r"column 'b' of the Dask frame has type (object|str)"):
        predict(lazy.assign(b="text"), model_path)
    with pytest.raises(InvalidInputError, match=r"expected an array with 6 columns, got shape \(4, 5\)"):
        predict(da.zeros((4, 5)), model_path)
    with pytest.raises(InvalidInputError, match="has type complex128"):
        predict(da.zeros((4, 6), dtype=complex), model_path)
    with pytest.raises(InvalidInputError, match="for rows in memory"):
        predict(frame, model_path)


def test_a_partition_of_another_type_than_the_frame_says_is_named(frame, model_path):
    def spoil(part, partition_info=None):
        return part.assign(b=part["b"].astype(str)) if partition_info["number"] == 3 else part

    lazy = dd.from_pandas(frame, 5)
    spoiled = lazy.map_partitions(spoil, meta=lazy._meta, enforce_metadata=False)
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(InvalidInputError, match="column 'b' of partition 3 of the Dask frame has type"),
    ):
        predict(spoiled, model_path).compute()
