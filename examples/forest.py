"""A random forest that stops early: where it stops, and how many of its trees are asked.

    python examples/forest.py [--small] [--output FOLDER]

The picture has, on the left, the envelope of the strategy: the poll about a row starts at the left, each tree
moves it one step to the right, up for yes and down for no, and at the edge it stops. On the right is how many
trees fresh rows took.
"""

import argparse
import textwrap
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from foregone import early_stop
from foregone.display import EnvelopeDisplay, SavingsDisplay

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--small", action="store_true", help="few rows and trees: takes seconds")
parser.add_argument("--output", type=Path, default=Path(), metavar="FOLDER", help="where the picture goes")
options = parser.parse_args()

n_rows, n_trees = (2_000, 25) if options.small else (20_000, 101)
X, y = make_classification(3 * n_rows, n_informative=8, class_sep=1.2, flip_y=0.02, random_state=0)
training, calibration, fresh = slice(0, n_rows), slice(n_rows, 2 * n_rows), slice(2 * n_rows, None)

# Train as ever; then show the forest rows it was not trained on. It needs no labels for them.
forest = RandomForestClassifier(n_trees, n_jobs=2, random_state=0).fit(X[training], y[training])
classifier = early_stop(forest, X[calibration], max_disagreement=1e-3, random_state=0)

print(textwrap.fill(str(classifier.promise_), 100))

labels, asked, _ = classifier.predict_with_votes(X[fresh])
differing = (labels != classifier.full_predict(X[fresh])).sum()
print(f"A forest of {n_trees} trees, and {n_rows:,} rows it has never seen:")
print(f"  trees asked per row, on average   {asked.mean():.1f}")
print(f"  differ from the full vote         {differing} rows; {n_rows / 1000:.0f} are allowed on average")
print(f"  error, stopped early              {(labels != y[fresh]).mean():.2%}")
print(f"  error, all trees asked            {(classifier.full_predict(X[fresh]) != y[fresh]).mean():.2%}")

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), width_ratios=(3, 2), layout="constrained")
EnvelopeDisplay.from_estimator(classifier, ax=left)
left.set_title("Where it stops", loc="left")
SavingsDisplay.from_estimator(classifier, X[fresh], ax=right)
right.set_title("Trees asked about fresh rows", loc="left")

options.output.mkdir(parents=True, exist_ok=True)
figure.savefig(options.output / "forest.png")
print(f"Picture: {options.output / 'forest.png'}")
