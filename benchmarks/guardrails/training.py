"""Trains the score of the support checks, and compares it by cross-validation with its predecessor.

Logistic regression by Newton's method with a ridge; each set has the same weight, and so has each label
within it. Weights are rounded so that all machines agree: the same data result in the same file, bit for bit.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.guardrails.cases import Case
from knowledge_rag.evaluation.claims_eval import load_claims
from knowledge_rag.evaluation.evaluation_report import new_table
from knowledge_rag.guardrails.support import weights
from knowledge_rag.guardrails.support.check import check_support, plain_claim
from knowledge_rag.guardrails.support.evidence_index import EvidenceIndex
from knowledge_rag.guardrails.support.report import DOUBTED, Verdict
from knowledge_rag.guardrails.support.score import FEATURES, Claimed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from rich.table import Table

FOLDS: Final = 5
_RIDGE: Final = 3.0
_SET_WEIGHT: Final = 200.0
"""Total weight of a set's rows, regardless of their number."""
_DECIMALS: Final = 3
_LEAST_SPREAD: Final = 0.05

OVERLAP: Final = "content words"


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """Rows of one origin.

    Args:
        name: the set's name.
        rows: features of each row, in the order of :data:`FEATURES`; shape (rows, features).
        unsupported: the labels, 0 or 1.
        folds: fold of each row; rows with the same evidence share one.
        errors: whether the checks report an error, without the score.
        weight: total weight of the rows.
    """

    name: str
    rows: NDArray[np.float64]
    unsupported: NDArray[np.float64]
    folds: NDArray[np.int64]
    errors: NDArray[np.bool_]
    weight: float = _SET_WEIGHT


def set_of(name: str, cases: Sequence[Case], weight: float = _SET_WEIGHT) -> TrainingSet:
    """Compute the features of some cases."""
    rows, errors, folds = [], [], []
    for case in cases:
        report = check_support(case.claim, case.lines)
        index = EvidenceIndex(case.lines)
        claimed = Claimed(plain_claim(case.claim, index), index.bag)
        rows.append([feature(claimed) for feature in FEATURES.values()])
        errors.append(report.verdict is Verdict.UNSUPPORTED)
        digest = hashlib.sha256("\n".join(case.lines).encode(errors="replace")).digest()
        folds.append(digest[0] % FOLDS)
    labels = np.array([float(not case.supported) for case in cases])
    return TrainingSet(
        name, np.array(rows), labels, np.array(folds), np.array(errors, dtype=bool), weight
    )


@dataclass(frozen=True, slots=True)
class Model:
    """Weights of some features.

    Args:
        columns: indices of the features.
        bias: the constant.
        weights: one for each.
    """

    columns: Sequence[int]
    bias: float
    weights: NDArray[np.float64]

    def doubts(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return each row's probability of being unsupported."""
        log_odds = self.bias + rows[:, self.columns] @ self.weights
        return np.asarray(1 / (1 + np.exp(-log_odds)), dtype=np.float64)


def train(
    sets: Sequence[TrainingSet], names: Sequence[str], keep: Sequence[NDArray[np.bool_]]
) -> Model:
    """Train on the rows selected by ``keep``, with the named features."""
    columns = [list(FEATURES).index(name) for name in names]
    rows = np.vstack([each.rows[some][:, columns] for each, some in zip(sets, keep, strict=True)])
    labels = np.concatenate([each.unsupported[some] for each, some in zip(sets, keep, strict=True)])
    importance = np.concatenate(
        [
            _importance(each.unsupported[some], each.weight)
            for each, some in zip(sets, keep, strict=True)
        ]
    )
    mean, spread = rows.mean(axis=0), rows.std(axis=0) + _LEAST_SPREAD
    scaled = np.hstack([np.ones((len(rows), 1)), (rows - mean) / spread])
    ridge = np.array([1e-6, *[_RIDGE] * len(columns)])
    solution = np.zeros(len(ridge))
    for _ in range(100):
        doubts = 1 / (1 + np.exp(-scaled @ solution))
        slope = scaled.T @ (importance * (doubts - labels)) + ridge * solution
        curve = (scaled.T * (importance * doubts * (1 - doubts))) @ scaled + np.diag(ridge)
        step = np.linalg.solve(curve, slope)
        solution = solution - step
        if np.abs(step).max() < 1e-12:
            break
    found = solution[1:] / spread
    return Model(columns, float(solution[0] - found @ mean), found)


def _importance(labels: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    wrong = labels.sum()
    right = len(labels) - wrong
    each = np.array([total / 2 / max(right, 1), total / 2 / max(wrong, 1)])
    return np.asarray(each[labels.astype(int)], dtype=np.float64)


def cross_validated(
    sets: Sequence[TrainingSet], names: Sequence[str], *, apart: bool = False
) -> dict[str, NDArray[np.float64]]:
    """Return the doubts of all rows, each from a model that didn't see its evidence.

    Args:
        sets: sets to train on and to judge.
        names: names of the features.
        apart: whether to leave out the whole set, and those of the same file, instead of a fold.
    """
    doubts = {each.name: np.zeros(len(each.unsupported)) for each in sets}
    if apart:
        for judged in sets:
            others = [it for it in sets if _family(it.name) != _family(judged.name)]
            model = train(
                others, names, [np.ones(len(it.unsupported), dtype=bool) for it in others]
            )
            doubts[judged.name] = model.doubts(judged.rows)
        return doubts
    for fold in range(FOLDS):
        model = train(sets, names, [each.folds != fold for each in sets])
        for each in sets:
            held_out = each.folds == fold
            doubts[each.name][held_out] = model.doubts(each.rows[held_out])
    return doubts


def _family(name: str) -> str:
    return name.partition(":")[0]


def whole(sets: Sequence[TrainingSet]) -> Model:
    """Train the shipped score, on all rows with all features."""
    return train(sets, list(FEATURES), [np.ones(len(it.unsupported), dtype=bool) for it in sets])


def source_of(model: Model) -> str:
    """Return the source of the module with the weights."""
    names = [list(FEATURES)[column] for column in model.columns]
    rows = "".join(
        f'    "{name}": {round(float(weight), _DECIMALS) + 0.0},\n'
        for name, weight in zip(names, model.weights, strict=True)
    )
    return f"{_HEAD}BIAS: Final = {round(model.bias, _DECIMALS)}\nWEIGHTS: Final = {{\n{rows}}}\n"


_HEAD: Final = f'"""{weights.__doc__}"""\n\nfrom typing import Final\n\n'


def dev_sets(paths: Sequence[Path]) -> list[TrainingSet]:
    """Read files of claims; BEGIN's three sources are sets of their own.

    Raises:
        InvalidRequest: a row isn't a claim.
        UnreadableDocument: a file can't be read.
    """
    sets: dict[str, list[Case]] = {}
    for path in paths:
        for it in load_claims(path):
            part = it.id.split("-")[1] if it.id.startswith("begin-") else ""
            name = f"{path.name}:{part}" if part else path.name
            case = Case(it.id, name, it.claim, it.evidence, supported=it.supported)
            sets.setdefault(name, []).append(case)
    begins = sum(":" in name for name in sets) or 1
    return [
        set_of(name, cases, _SET_WEIGHT / (begins if ":" in name else 1))
        for name, cases in sets.items()
    ]


def balanced(labels: NDArray[np.float64], alarms: NDArray[np.bool_]) -> float:
    """Return the balanced accuracy of alarms."""
    return float((alarms[labels == 1].mean() + 1 - alarms[labels == 0].mean()) / 2)


def mean_of(sets: Sequence[TrainingSet], values: Mapping[str, float]) -> float:
    """Return the mean over files; the sets of one file count together as one."""
    files: dict[str, list[float]] = {}
    for each in sets:
        files.setdefault(_family(each.name), []).append(values[each.name])
    return float(np.mean([np.mean(some) for some in files.values()]))


ABLATION: Final[Mapping[str, Sequence[str]]] = {
    "word overlap": [OVERLAP],
    "+ near pairs": [OVERLAP, "near pairs"],
    "+ triples": [OVERLAP, "near pairs", "triples"],
    "+ missing names": [OVERLAP, "near pairs", "triples", "missing names"],
    "+ missing numbers": [OVERLAP, "near pairs", "triples", "missing names", "missing numbers"],
    "+ who speaks, questions": list(FEATURES),
}


def ablations(sets: Sequence[TrainingSet]) -> list[dict[str, Any]]:
    """Measure with one feature after another added, and last with the errors of the rules.

    Returns:
        For each row, the mean balanced accuracy over the files, by folds and with the file left out, its
        95 % interval by folds, and the accuracy of each set.
    """
    return [
        *(_ablated(sets, label, names, errors=False) for label, names in ABLATION.items()),
        _ablated(sets, "+ errors (verify)", list(FEATURES), errors=True),
    ]


def _ablated(
    sets: Sequence[TrainingSet], label: str, names: Sequence[str], *, errors: bool
) -> dict[str, Any]:
    folds = _alarms(sets, cross_validated(sets, names), errors=errors)
    apart = _alarms(sets, cross_validated(sets, names, apart=True), errors=errors)
    by_set = {it.name: balanced(it.unsupported, folds[it.name]) for it in sets}
    left_out = {it.name: balanced(it.unsupported, apart[it.name]) for it in sets}
    rng = np.random.default_rng(0)
    drawn = [mean_of(sets, _redrawn(sets, folds, rng)) for _ in range(_DRAWS)]
    return {
        "features": label,
        "by_folds": mean_of(sets, by_set),
        "interval": [float(end) for end in np.percentile(drawn, (2.5, 97.5))],
        "set_left_out": mean_of(sets, left_out),
        "sets": by_set,
    }


def _alarms(
    sets: Sequence[TrainingSet], doubts: Mapping[str, NDArray[np.float64]], *, errors: bool
) -> dict[str, NDArray[np.bool_]]:
    return {it.name: (doubts[it.name] >= DOUBTED) | (it.errors & errors) for it in sets}


def _redrawn(
    sets: Sequence[TrainingSet], alarms: Mapping[str, NDArray[np.bool_]], rng: np.random.Generator
) -> dict[str, float]:
    """Return balanced accuracies of rows resampled within each label."""
    values = {}
    for it in sets:
        wrong, right = alarms[it.name][it.unsupported == 1], alarms[it.name][it.unsupported == 0]
        recall = rng.choice(wrong, len(wrong)).mean()
        values[it.name] = float((recall + 1 - rng.choice(right, len(right)).mean()) / 2)
    return values


def ablation_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return the ablation as a table."""
    title = "balanced accuracy, mean over the files"
    table = new_table(title, "features", "by folds", "95 %", "file left out")
    for row in rows:
        low, high = row["interval"]
        ends = f"{low:.3f}-{high:.3f}"
        table.add_row(row["features"], f"{row['by_folds']:.3f}", ends, f"{row['set_left_out']:.3f}")
    return table


_DRAWS: Final = 1_000
