"""A rare class: why one limit for all rows is not enough, and what a limit for each class costs.

    python examples/imbalanced_classes.py [--small] [--output FOLDER]

The picture has, on the left, how many trees say "sick" about healthy and about sick rows. On the right is the
disagreement, by how many trees say "sick": with one limit for all, the rare class bears nearly all of it.
"""

import argparse
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from foregone import early_stop
from foregone.classifier import RareClassWarning
from foregone.display import RiskDisplay, VoteDistributionDisplay

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--small", action="store_true", help="few rows and trees: takes seconds")
parser.add_argument("--output", type=Path, default=Path(), metavar="FOLDER", help="where the picture goes")
options = parser.parse_args()

n_rows, n_trees = (3_000, 25) if options.small else (10_000, 101)
X, number = make_classification(3 * n_rows, n_informative=8, weights=[0.95], class_sep=1.2, random_state=0)
y = np.array(["healthy", "sick"])[number]
training, calibration, fresh = slice(0, n_rows), slice(n_rows, 2 * n_rows), slice(2 * n_rows, None)
forest = RandomForestClassifier(n_trees, n_jobs=2, random_state=0).fit(X[training], y[training])

limits = {
    "one limit": 0.01,
    "one for each": {"healthy": 0.01, "sick": 0.01},
}
warnings.simplefilter("ignore", RareClassWarning)  # it would say of the first what is shown here
classifiers = {
    name: early_stop(forest, X[calibration], max_disagreement=limit, random_state=0)
    for name, limit in limits.items()
}
print(f"{n_trees} trees; {np.mean(y == 'sick'):.0%} of the rows are sick; 1 answer in 100 may differ.")
print("                expected   of those voted   of those voted")
print("                   trees   healthy differ      sick differ")
for name, classifier in classifiers.items():
    full = classifier.full_predict(X[fresh])
    differs = classifier.predict(X[fresh]) != full
    healthy, sick = (differs[full == label].mean() for label in ("healthy", "sick"))
    print(f"{name:14}  {classifier.expected_votes_:8.1f}   {healthy:14.2%}   {sick:14.2%}")

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
VoteDistributionDisplay.from_estimator(classifiers["one limit"], X[fresh], y[fresh], ax=left)
left.set_xlabel('trees that say "sick"')
for name, classifier in classifiers.items():
    RiskDisplay.from_estimator(classifier, ax=right, name=name)
right.set_xlabel('trees that say "sick"')

options.output.mkdir(parents=True, exist_ok=True)
figure.savefig(options.output / "imbalanced_classes.png")
print(f"Picture: {options.output / 'imbalanced_classes.png'}")
