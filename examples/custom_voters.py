"""Voters of your own: anything with ``classes_`` and ``predict`` can be asked, and is asked only when needed.

    python examples/custom_voters.py [--small] [--output FOLDER]

Nine inspectors look at parts, each by a rule of thumb of its own, and each look is expensive. The picture
shows every state that the poll about a part can be in, how likely it is, and (double ring) where it stops.
"""

import argparse
import textwrap
from pathlib import Path

import numpy as np

from foregone import early_stop
from foregone.display import StateGraphDisplay

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--small", action="store_true", help="few parts: takes seconds")
parser.add_argument("--output", type=Path, default=Path(), metavar="FOLDER", help="where the picture goes")
options = parser.parse_args()


class Inspector:
    """Adds up what it finds wrong with a part, by weights of its own, and rejects above a threshold."""

    classes_ = np.array(["accept", "reject"])  # no and yes

    def __init__(self, seed: int) -> None:
        self.weights = 1 + 0.3 * np.random.default_rng(seed).normal(size=4)
        self.parts_seen = 0

    def predict(self, X):
        """Return "accept" or "reject" for each part."""
        self.parts_seen += len(X)  # this is what costs
        return np.where(X @ self.weights > 2.0, "reject", "accept")


n_parts = 1_000 if options.small else 20_000
flaws = np.random.default_rng(0).gamma(0.5, 0.6, size=(2 * n_parts, 4))
inspectors = [Inspector(seed) for seed in range(9)]

# Half of the parts are shown to everyone, to learn whom to ask first and when to stop, and to certify it.
classifier = early_stop(inspectors, flaws[:n_parts], max_disagreement=0.01, random_state=0)

for inspector in inspectors:
    inspector.parts_seen = 0
labels = classifier.predict(flaws[n_parts:])
looks = sum(inspector.parts_seen for inspector in inspectors)
agree = np.mean(labels == classifier.full_predict(flaws[n_parts:]))
print(f"{n_parts:,} parts, {np.mean(labels == 'reject'):.0%} of them rejected")
print(f"Looks at a part, on average: {looks / n_parts:.2f} instead of {len(inspectors)}")
print(f"Same answer as the majority of all inspectors: {agree:.2%} of the parts")
print(textwrap.fill(str(classifier.promise_), 100))

display = StateGraphDisplay.from_estimator(classifier)
display.ax_.set(xlabel="inspectors asked", ylabel='of them say "reject"')
options.output.mkdir(parents=True, exist_ok=True)
display.figure_.savefig(options.output / "custom_voters.png", dpi=90)
print(f"Picture: {options.output / 'custom_voters.png'}")
