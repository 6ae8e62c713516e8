"""How much disagreement to allow: what each limit costs and risks, and a recommendation in words.

    python examples/choosing_a_setting.py [--small] [--output FOLDER]

All that is needed is how many trees said yes to some rows: no labels, and no forest to be run again. The
picture has expected votes on the left and disagreement on the right, beside those of the usual rules.
"""

import argparse
import textwrap
from pathlib import Path

from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from foregone import VoteDistribution, plan
from foregone.display import TradeoffDisplay

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--small", action="store_true", help="few rows and trees: takes seconds")
parser.add_argument("--output", type=Path, default=Path(), metavar="FOLDER", help="where the picture goes")
options = parser.parse_args()

n_rows, n_trees = (2_000, 25) if options.small else (10_000, 101)
X, y = make_classification(2 * n_rows, n_informative=8, class_sep=1.2, flip_y=0.02, random_state=0)
forest = RandomForestClassifier(n_trees, n_jobs=2, random_state=0).fit(X[:n_rows], y[:n_rows])

# Any way to count votes will do. Take rows it was not trained on: those look more decided than new ones.
yes_counts = sum(tree.predict(X[n_rows:]).astype(int) for tree in forest.estimators_)
trade_off = plan(
    VoteDistribution.from_yes_counts(yes_counts, n_trees), [0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4]
)

print(f"{n_trees} trees, votes of {n_rows:,} rows")
print("disagreement allowed   expected votes   times fewer")
for row in trade_off.rows:
    print(f"{row.limit:20g}   {row.expected_votes:14.1f}   {row.speed_up:11.1f}")
print()
for paragraph in trade_off.recommendation.splitlines():
    print(textwrap.fill(paragraph, 100, initial_indent="- ", subsequent_indent="  "))

display = TradeoffDisplay.from_plan(trade_off, baselines=True)
options.output.mkdir(parents=True, exist_ok=True)
display.figure_.savefig(options.output / "choosing_a_setting.png", dpi=100)
print(f"Picture: {options.output / 'choosing_a_setting.png'}")
