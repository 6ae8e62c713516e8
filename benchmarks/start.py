"""Measure start-up in processor time: importing, loading a saved model, compiling the first time.

    python -m benchmarks.start
    python -m benchmarks.start --before ../before --rounds 5
    python -m benchmarks.start --cases load-classifier --warm-only
    python -m benchmarks.start --before ../before --write-docs

Every case is a script that runs in a process of its own, cold (an empty cache of compiled code) and warm (the
cache of the cold run). With ``--before``, the folder of another checkout such as `git worktree add --detach
../before COMMIT` makes, both take turns. Seconds are those of user and system of the whole process, the least
of the rounds; compiling is measured once, or in as many rounds as ``--cold-rounds`` says.
"""

from __future__ import annotations

import argparse
import compileall
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.facts import facts_of
from benchmarks.markdown import as_list, put_into, table

ROOT = Path(__file__).parent.parent

PREPARE = """
import sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from foregone import early_stop
from foregone.forest import PackedForest
folder = sys.argv[1]
X, y = make_classification(16_000, class_sep=1.5, random_state=0)
forest = RandomForestClassifier(101, random_state=0).fit(X[:2000], y[:2000])
early_stop(forest, X[2000:12_000], max_disagreement=1e-3, random_state=0).save(folder + "/votes.foregone")
PackedForest.from_sklearn(forest).save(folder + "/forest.foregone")
boosted = HistGradientBoostingClassifier(random_state=0).fit(X[:2000], y[:2000])
early_stop(boosted, X[2000:12_000], max_disagreement=1e-2, random_state=0).save(folder + "/scores.foregone")
np.save(folder + "/row.npy", X[-1:]), np.save(folder + "/rows.npy", X[12_000:])
np.save(folder + "/X.npy", X), np.save(folder + "/y.npy", y)
import pickle
pickle.dump(boosted, open(folder + "/boosted.pickle", "wb"))
"""

HEAD = """
import sys
folder = sys.argv[1]
"""

CASES = {
    "readme": (
        "README's first snippet",
        """
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from foregone import early_stop
X, y = make_classification(16_000, class_sep=1.5, random_state=0)
forest = RandomForestClassifier(101, random_state=0).fit(X[:2000], y[:2000])
unseen, new = X[2000:12_000], X[12_000:]
classifier = early_stop(forest, unseen, max_disagreement=1e-3, random_state=0)
print(classifier.promise_)
labels, asked, yes = classifier.predict_with_votes(new)
""",
    ),
    "solve": (
        "solve, 101 voters",
        """
from foregone import solve
solve("minimixed", 101, max_disagreement=1e-3)
""",
    ),
    "boosted": (
        "early_stop of boosted trees, and predict",
        """
import pickle
import numpy as np
from foregone import early_stop
model = pickle.load(open(folder + "/boosted.pickle", "rb"))
X = np.load(folder + "/X.npy")
classifier = early_stop(model, X[2000:12_000], max_disagreement=1e-2, random_state=0)
classifier.predict(X[12_000:])
""",
    ),
    "load-batch": (
        "load a classifier and predict a batch",
        """
import numpy as np
from foregone import EarlyStoppingClassifier
EarlyStoppingClassifier.load(folder + "/votes.foregone").predict(np.load(folder + "/rows.npy"))
""",
    ),
    "load-classifier": (
        "EarlyStoppingClassifier.load and one row",
        """
import numpy as np
from foregone import EarlyStoppingClassifier
EarlyStoppingClassifier.load(folder + "/votes.foregone").predict(np.load(folder + "/row.npy"))
""",
    ),
    "load-scores": (
        "the same, boosted trees",
        """
import numpy as np
from foregone import EarlyStoppingClassifier
EarlyStoppingClassifier.load(folder + "/scores.foregone").predict(np.load(folder + "/row.npy"))
""",
    ),
    "load-forest": (
        "PackedForest.load and run_one",
        """
import numpy as np
from foregone.forest import PackedForest
PackedForest.load(folder + "/forest.foregone").run_one(np.load(folder + "/row.npy")[0], None, seed=0)
""",
    ),
    "import": ("import foregone", "import foregone"),
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.start",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--before", type=Path, help="folder of another checkout")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES), metavar="CASE")
    parser.add_argument("--rounds", type=int, default=5, help="starts with a warm cache (default 5)")
    parser.add_argument("--cold-rounds", type=int, default=1, help="starts with an empty cache (default 1)")
    parser.add_argument("--warm-only", action="store_true", help="do not report cold starts")
    parser.add_argument(
        "--write-docs", action="store_true", help="write the table to docs/measurements/speed.md"
    )
    options = parser.parse_args(arguments)
    checkouts = {"before": options.before, "now": ROOT} if options.before else {"now": ROOT}
    rows = []
    with tempfile.TemporaryDirectory() as kept:
        for name, folder in checkouts.items():
            (Path(kept) / name).mkdir()
            seconds_of(folder, PREPARE, Path(kept) / name, Path(kept) / f"{name}-cache")
        for case in options.cases:
            title, script = CASES[case]
            cold, warm = _measure(checkouts, HEAD + script, Path(kept), options)
            shown = [] if options.warm_only else [cold]
            cells = [[f"{least[name]:.2f}" for name in checkouts] for least in [*shown, warm]]
            ratios = [f"{least['now'] / least['before']:.2f}" for least in [*shown, warm] if options.before]
            rows.append([title, *(cell for pair in cells for cell in pair), *ratios])
            print(rows[-1], file=sys.stderr, flush=True)
    kinds = ["warm"] if options.warm_only else ["cold", "warm"]
    head = ["CPU seconds", *(f"{kind}, {name}" for kind in kinds for name in checkouts)]
    facts = as_list(
        facts_of("python -m benchmarks.start" + (" --before ../before" if options.before else ""))
    )
    text = f"{facts}\n\n{table([*head, *(f'{kind}, ratio' for kind in kinds if options.before)], rows)}"
    print(text)
    if options.write_docs:
        put_into(ROOT / "docs" / "measurements" / "speed.md", text, "start")
    return 0


def _measure(
    checkouts: dict[str, Path], script: str, kept: Path, options: argparse.Namespace
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the least seconds of each checkout, with an empty cache and with the one made by that."""
    cold: dict[str, list[float]] = {name: [] for name in checkouts}
    warm: dict[str, list[float]] = {name: [] for name in checkouts}
    with tempfile.TemporaryDirectory() as caches:
        for round_ in range(options.cold_rounds):
            for name, folder in checkouts.items():
                cache = Path(caches) / f"{name}-{round_}"
                cold[name].append(seconds_of(folder, script, kept / name, cache))
        for _ in range(options.rounds):
            for name, folder in checkouts.items():
                cache = Path(caches) / f"{name}-0"
                warm[name].append(seconds_of(folder, script, kept / name, cache))
    return tuple({name: min(found) for name, found in times.items()} for times in (cold, warm))  # type: ignore[return-value]  # two of them


def seconds_of(checkout: Path, script: str, files: Path, cache: Path) -> float:
    """Return the processor time of a script that is run with a copy of a checkout, without its caches.

    The copy lies in ``cache``; what is compiled stays beside it.
    """
    copy = cache / "src"
    if not copy.exists():
        shutil.copytree(checkout / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(copy, quiet=1)  # as pip does: this is not about Python's own compiler
    environment = {
        **os.environ,
        "PYTHONPATH": str(copy),
        "PYTHONWARNINGS": "ignore",
        "HOME": str(cache),
        "XDG_CACHE_HOME": str(cache),
    }
    for name in ("FOREGONE_CACHE_DIR", "NUMBA_CACHE_DIR"):
        environment.pop(name, None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", script, str(files)],
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
