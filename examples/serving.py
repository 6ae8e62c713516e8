"""Serve a saved classifier over HTTP, and watch whether its promise still holds.

    python examples/serving.py forest.foregone --port 8000 --audit 0.01 --state state.json

    GET  /health         the promise, the digest of the model file, rows answered so far
    POST /predict        {"row": [1.5, null, ...]}, or {"row": {"name": 1.5, ...}} if the model knows names
    POST /predict_batch  {"rows": [[...], ...]}
    GET  /metrics        for Prometheus
    GET  /alarm          what has moved since the calibration, if anything
    POST /reload         read the model file again; a damaged one is refused, and the old model goes on

Values are numbers; null is a missing one. Give each process a --state file of its own. It listens on loopback
unless --host says otherwise: let a proxy decide who may call /reload, and how long a request may be.

Needs FastAPI and uvicorn:  pip install 'foregone[serve]', or in a checkout  pip install '.[serve]'
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import logging
import sys
import threading
import warnings
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import uvicorn
from fastapi import Body, FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse

from foregone import EarlyStoppingClassifier, ForegoneError
from foregone.errors import FileFormatError
from foregone.monitoring import Alarm, MonitorState, MonitorWarning

log = logging.getLogger("serving")
Row = list[Any] | dict[str, Any]


class Model:
    """A classifier that is ready to answer, its monitor, and the digest of the file that it comes from."""

    def __init__(self, path: Path, audit: float) -> None:
        self.digest = digest_of(path)
        self.classifier = EarlyStoppingClassifier.load(path)
        if digest_of(path) != self.digest:
            raise FileFormatError(f"{path} was written while it was read: load it again")
        self.names = getattr(self.classifier, "feature_names_in_", np.empty(0)).tolist()
        self.n_features = self.classifier.n_features_in_
        batch = np.zeros((64, self.n_features))
        for rows in (batch[:1], batch):  # so that no request waits until loops are compiled
            self.classifier.predict(rows)
            self.classifier.full_predict(rows)  # what audits ask
        self.classifier.monitor(audit=0.5).predict_with_votes(batch[:1])  # one that counts for nothing
        self.monitor = self.classifier.monitor(audit, on_alarm=on_alarm)

    def answer(self, rows: list[Row]) -> tuple[list[Any], list[int]]:
        """Return the labels of rows and how many voters were asked about each; 422 if rows are not valid."""
        try:
            table = np.array([self.values_of(row) for row in rows], dtype=np.float64)
            labels, asked, _ = self.monitor.predict_with_votes(table.reshape(len(rows), self.n_features))
        except (ValueError, OverflowError) as error:  # also foregone's and scikit-learn's own
            raise HTTPException(422, plain(str(error).splitlines()[0])) from None
        return labels.tolist(), asked.tolist()

    def values_of(self, row: Row) -> list[Any]:
        """Return the values of a row in the order of the model's columns."""
        if isinstance(row, dict):
            if row.keys() != set(self.names):
                wrong = sorted(row.keys() ^ set(self.names))
                raise ValueError(f"a row has names missing, or others than the model's: {wrong[:5]}")
            row = [row[name] for name in self.names]
        if len(row) != self.n_features:
            raise ValueError(f"a row has {len(row)} values, and the model takes {self.n_features}")
        if not {type(value) for value in row} <= {int, float, bool, type(None)}:
            raise ValueError("a row has values that are neither numbers nor null")
        return row


class Service:
    """The model that answers now, and the file that keeps what its monitor has seen."""

    def __init__(self, path: Path, audit: float, state: Path | None) -> None:
        self.path, self.audit, self.state = path, audit, state
        self.lock = threading.Lock()  # one reload, or one writing of the state, at a time
        self.model = Model(path, audit)
        if state is not None and state.exists():
            try:
                self.model.monitor.state = MonitorState.load(state)
            except ForegoneError as error:  # it is damaged, or of another model
                log.warning("A new monitor begins; %s is moved to %s: %s", state, old(state), error)
                state.replace(old(state))

    def save(self) -> None:
        """Write what the monitor has seen, atomically. If that fails the service goes on."""
        try:
            if self.state is not None:
                with self.lock:
                    self.model.monitor.state.save(self.state)
        except ForegoneError as error:
            log.error("What the monitor has seen is not saved: %s", error)

    def reload(self) -> None:
        """Load the file beside the old model and swap them; what the old monitor has seen is kept."""
        with self.lock:
            new = Model(self.path, self.audit)
            if new.digest == self.model.digest:
                return  # nothing has changed: the monitor goes on
            if self.state is not None:
                self.model.monitor.state.save(old(self.state))
            self.model = new  # requests that have begun are finished by the old one


def make_app(
    path: Path | str,
    *,
    audit: float = 0.01,
    state: Path | str | None = None,
    save_every: float = 30.0,
    max_rows: int = 10_000,
) -> FastAPI:
    """Return the application, its model loaded and warmed up; ForegoneError if the file is not valid."""
    service = Service(Path(path), audit, None if state is None else Path(state))

    async def save_repeatedly() -> None:
        while True:
            await asyncio.sleep(save_every)
            await asyncio.to_thread(service.save)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        saving = asyncio.create_task(save_repeatedly())
        yield
        saving.cancel()
        await asyncio.to_thread(service.save)

    app = FastAPI(title="foregone", lifespan=lifespan)

    @app.exception_handler(RequestValidationError)
    def refuse(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]  # without what was sent: it may be long, or NaN, which JSON does not have
        where = ".".join(map(str, first["loc"]))
        return JSONResponse({"detail": plain(f"{where}: {first['msg']}")}, 422)

    # Functions that are not async run in threads: a long batch does not hold up the other requests.
    @app.get("/health")
    def health() -> dict[str, Any]:
        model = service.model
        promise, n_rows = str(model.classifier.promise_), model.monitor.state.n_rows
        return {"ready": True, "promise": promise, "model": f"sha256:{model.digest}", "rows": n_rows}

    @app.post("/predict")
    def predict(row: Annotated[Row, Body(embed=True)]) -> dict[str, Any]:
        labels, asked = service.model.answer([row])
        return {"label": labels[0], "asked": asked[0]}

    @app.post("/predict_batch")
    def predict_batch(rows: Annotated[list[Row], Body(embed=True)]) -> dict[str, Any]:
        if len(rows) > max_rows:
            raise HTTPException(422, f"{len(rows):,} rows are too many: send at most {max_rows:,} at once")
        labels, asked = service.model.answer(rows)
        return {"labels": labels, "asked": asked}

    @app.get("/metrics")
    def metrics() -> PlainTextResponse:
        return PlainTextResponse(service.model.monitor.metrics(), media_type="text/plain; version=0.0.4")

    @app.get("/alarm")
    def alarm() -> dict[str, Any]:
        figures = service.model.monitor.to_dict()
        return {name: figures[name] for name in ("alarm", "alarms", "evidence", "threshold", "rows")}

    @app.post("/reload")
    def reload() -> dict[str, Any]:
        try:
            service.reload()
        except ForegoneError as error:
            raise HTTPException(409, plain(f"the old model goes on: {error}")) from None
        return health()

    return app


def digest_of(path: Path) -> str:
    """Return a name for the content of a file."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise FileFormatError(f"cannot read {path}: {error.strerror}") from None


def old(state: Path) -> Path:
    """Return where the state of the model before is kept."""
    return state.with_name(f"{state.name}.old")


def plain(text: str) -> str:
    """Return a text that can be sent and logged, whatever a client put into it."""
    return text[:500].encode("ascii", "backslashreplace").decode()


def on_alarm(alarm: Alarm) -> None:
    """Log an alarm; this is the place to page someone."""
    log.warning("%s", alarm)


def main(arguments: list[str] | None = None) -> int:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path, help="a file that classifier.save(path) wrote")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument(
        "--audit", type=float, default=0.01, help="share of rows that all voters are asked about"
    )
    parser.add_argument("--state", type=Path, help="file that keeps what the monitor has seen")
    options = parser.parse_args(arguments)
    logging.basicConfig(format="%(levelname)s: %(message)s")
    warnings.simplefilter("ignore", MonitorWarning)  # `on_alarm` logs it
    warnings.filterwarnings("ignore", "X does not have valid feature names")  # `values_of` looks at them
    try:
        app = make_app(options.model, audit=options.audit, state=options.state)
    except ForegoneError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    uvicorn.run(app, host=options.host, port=options.port, access_log=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
