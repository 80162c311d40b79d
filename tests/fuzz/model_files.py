"""Damaged and hostile model files: each is refused by a ModelFileError or makes a model that works, at little cost."""

import copy
import hashlib
import json
import random
import tempfile
import time
from functools import cache
from itertools import islice, product
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone

from parityboost import AdaBoostClassifier, AdaFairClassifier, ModelFileError, ParityBoostClassifier, explain, load
from parityboost._table.binning import CategoricalColumn
from parityboost.paper.baselines import SMOTEBoostClassifier

from .engine import ACCEPTED, REFUSED

MOST_SECONDS = 2  # of the processor, for loading a file and for using the model, which take some hundredths
BYTES_PER_SECOND = 10_000_000  # and as long as it takes to read a large one
MOST_BYTES_PER_LABEL = 4 * 10_000  # of an array of labels
LONGEST_MESSAGE = 1500


# --- Sound files -----------------------------------------------------------------------------------------------------


def make_models():
    """One model of each kind that a file can hold."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=120)
    X = pd.DataFrame(
        {
            "skill": np.round(y + rng.normal(size=120), 1),
            "job": pd.Categorical(rng.choice(["clerk", "cook", "smith"], 120)),
            "age": pd.Categorical(rng.choice([20, 30, 40], 120)),
            "member": rng.random(120) < 0.5,
        }
    )
    group = rng.choice(["a", "b"], 120)
    bands = pd.cut(rng.uniform(0, 90, 120), [0, 30, 60, 90])
    both = pd.DataFrame({"s": group, "t": rng.integers(2, size=120)})
    common = {"n_estimators": 6, "random_state": 0}
    yield AdaFairClassifier(**common).fit(X, y, sensitive_features=group)
    yield AdaFairClassifier(threshold="per_group", sensitive_feature="job", **common).fit(X, np.where(y, "yes", "no"))
    yield AdaFairClassifier(threshold="per_group", class_weight={0: 2.0}, **common).fit(X, y, sensitive_features=both)
    yield AdaFairClassifier(positive="no", favourable="yes", **common).fit(
        X, np.where(y, "yes", "no"), sensitive_features=group
    )
    yield AdaFairClassifier(threshold="auto", notion="none", **common).fit(X, y == 1, sensitive_features=bands)
    yield AdaFairClassifier(max_depth=2, interaction_cst=[{0, 1}], **common).fit(X, y, sensitive_features=group)
    yield ParityBoostClassifier(n_bags=2, dial=True, **common).fit(X, y, sensitive_features=group)
    yield AdaBoostClassifier(6, categorical_features=[0]).fit(X.to_numpy(dtype=object)[:, :1], y / 1.0)
    yield SMOTEBoostClassifier(4, n_synthetic=5, random_state=0).fit(X, y)


@cache
def files():
    """The bytes of each."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        found = []
        for model in make_models():
            model.save(path)
            found.append(path.read_bytes())
        return found


def sealed(body):
    """A body with the checksum that belongs to it."""
    return body + f',\n  "sha256": "{hashlib.sha256(body).hexdigest()}"\n}}\n'.encode()


def written(document):
    """A document, however wrong, as a file whose checksum is right."""
    return sealed(json.dumps({key: value for key, value in document.items() if key != "sha256"})[:-1].encode())


# --- Damage ----------------------------------------------------------------------------------------------------------


def deep(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


NASTY = [
    *(float("nan"), float("inf"), 1e999, -1, 0, 1, 0.5, 2**64, 10**30, -(10**17), 1e308, True, False, None, "", "a"),
    *("\ud800", [], {}, [[]], list(range(1000)), [0] * 100_000, ["x"] * 50_000, deep(200), {"tuple": [1]}),
    *({"float": "inf"}, {"numpy": "int8", "value": 300}, {"numpy": "str", "value": "a"}, {"notion": "none"}),
    *({"timestamp": "2020-01-01T00:00:00"}, {"interval": [0, 1], "closed": "both"}, {"pairs": [[[], 1]]}),
    *({"timestamp": "9999-99-99T99:99:99+99:99"}, {"numpy": "float16", "value": 1e300}, {"numpy": "str", "value": 1}),
    *({"interval": [1, 0], "closed": "left"}, {"tuple": [{"tuple": [{"tuple": [[]]}]}]}, "x" * 100_000, -0.0, 5e-324),
]


def all_places(value):
    """Every container in a document and each of its keys."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from all_places(value[key])


def damage_structure(document, rng):
    """Change a document in one of many ways."""
    places = list(all_places(document))
    container, key = rng.choice(places)
    nasty = copy.deepcopy(rng.choice(NASTY))
    kind = rng.choice(["replace", "replace", "remove", "add", "copy", "repeat", "number"])
    if kind == "replace":
        container[key] = nasty
    elif kind == "remove":
        del container[key]
    elif kind == "add":
        objects = [document, *(c[k] for c, k in places if isinstance(c[k], dict))]
        rng.choice(objects)[rng.choice(["extra", "edges", "categories", "__class__", "n_jobs"])] = nasty
    elif kind == "copy":
        other, other_key = rng.choice(places)
        container[key] = copy.deepcopy(other[other_key])
    elif kind == "repeat":
        chosen = rng.choice([c[k] for c, k in places if isinstance(c[k], list) and c[k]])
        chosen.insert(rng.randrange(len(chosen)), copy.deepcopy(rng.choice(chosen)))
    else:
        container, key = rng.choice([(c, k) for c, k in places if type(c[k]) in (int, float)])
        container[key] = rng.choice([-container[key], container[key] * 1e6, container[key] + 1, str(container[key])])


def damage_bytes(data, rng):
    """Change some bytes."""
    at, length = rng.randrange(len(data)), rng.randrange(1, 40)
    return rng.choice(
        [
            data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :],
            data[:at] + bytes([data[at] ^ rng.randrange(1, 256)]) + data[at + 1 :],
            data[:at],
            data[:at] + data[at + length :],
            data[:at] + rng.randbytes(length) + data[at:],
            data[:at] + data[at : at + length] + data[at:],
            data[at:],
        ]
    )


def make_hostile(document, rng):
    """Ask for much: memory, time, or depth."""
    many = rng.choice([1_000, 20_000, 60_000])
    legitimate = rng.choice([300, 2_000, 300_000])  # but for the last
    kind = rng.choice(["wide labels", "equal hashes", "groups", "columns", "trees", "history", "nested", "list"])
    if kind == "wide labels":
        document["classes"] = {"dtype": f"str{rng.choice([1, 999, 100_000, 999_999])}", "values": ["n", "p"]}
    elif kind == "equal hashes":
        zeros = [k * (2**61 - 1) for k in range(-4, 9)]  # their hashes are all 0, those of such tuples all alike
        tuples = [{"tuple": list(parts)} for parts in islice(product(zeros, repeat=5), many)]
        place = rng.choice([document, document["columns"][0]])
        place["groups" if place is document else "categories"] = tuples
    elif kind == "groups":
        document["groups"] = [rng.choice([str(i), i, {"tuple": [i, "x"]}]) for i in range(many)]
    elif kind == "columns":
        document["columns"] = [{**document["columns"][0], "name": f"c{i}"} for i in range(legitimate)]
    elif kind == "trees":
        for part in {"trees", "history"} & document.keys():  # an average has no trees
            document[part] *= legitimate // len(document[part])
    elif kind == "history":
        document["history_columns"] = [f"c{i}" for i in range(legitimate)]
        document["history"] = [[0.0] * legitimate for _ in document["history"]]
    elif kind == "nested":
        container, key = rng.choice(list(all_places(document)))
        container[key] = deep(rng.choice([100, 900]))
    else:
        parameter = rng.choice(["categorical_features", "sensitive_feature", "class_weight", "random_state"])
        document["parameters"][parameter] = rng.choice([list(range(many)), {"pairs": [[i, 1.0] for i in range(many)]}])


# --- An attempt ------------------------------------------------------------------------------------------------------


def attempt(rng):
    rng = random.Random(int(rng.integers(2**63)))
    sound = rng.choice(files())
    kind = rng.choice(["bytes"] * 2 + ["sealed bytes"] * 2 + ["structure"] * 8 + ["hostile"] * 2)
    if kind == "bytes":
        data = damage_bytes(sound, rng)
    elif kind == "sealed bytes":
        data = sealed(damage_bytes(sound[: sound.rindex(b",")], rng))
    else:
        document = json.loads(sound)
        if kind == "hostile":
            make_hostile(document, rng)
        else:
            for _ in range(rng.choice([1, 1, 1, 2, 5])):
                damage_structure(document, rng)
        data = written(document)
    model = loaded(data, verify=rng.random() < 0.8)
    if kind == "bytes" and data.replace(b"\r\n", b"\n") != sound and loaded(data, verify=True) is not None:
        raise AssertionError("the checksum did not find a change")
    if model is None:
        return REFUSED
    start = time.process_time()
    use(model)
    seconds = time.process_time() - start
    assert seconds < MOST_SECONDS, f"using the model took {seconds:.1f} s of the processor"
    return ACCEPTED


def loaded(data, verify):
    """The model, None if there is none; anything but the one error goes up."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        path.write_bytes(data)
        start = time.process_time()
        try:
            return load(path, verify=verify)
        except ModelFileError as error:
            assert str(error).startswith(f"{path}: "), f"the message does not name the file: {error}"
            assert len(str(error)) < LONGEST_MESSAGE, f"a message of {len(str(error))} characters"
            return None
        finally:
            seconds = time.process_time() - start
            most = MOST_SECONDS + len(data) / BYTES_PER_SECOND
            assert seconds < most, f"loading {len(data)} bytes took {seconds:.1f} s of the processor"


def frame_for(model):
    """Rows that a model can be asked about, whatever its columns are now."""
    columns = []
    for column in model.glass_box_.columns:
        if isinstance(column, CategoricalColumn):
            known = [value for value in column.categories if isinstance(value, (str, bool, int, float))][:2]
            values = pd.Series(pd.Categorical([None, *known][:3] + [None] * (2 - len(known)), categories=known))
        else:
            values = pd.Series([np.nan, -1e300, 0.5])
        columns.append(values)
    X = pd.concat(columns, axis=1)
    X.columns = model.feature_names_in_ if hasattr(model, "feature_names_in_") else range(len(columns))
    return X


def use(model):
    """What people do with a model."""
    X = frame_for(model)
    groups = pd.Series([model.groups_[0]] * len(X), dtype=object)
    predicted = model.predict(X, sensitive_features=groups)
    assert np.isin(predicted, model.classes_).all()
    assert predicted.nbytes < MOST_BYTES_PER_LABEL * len(predicted), f"labels of {predicted.itemsize} bytes each"
    assert np.isfinite(model.predict_proba(X, sensitive_features=groups)).all()
    assert np.isfinite(model.feature_importances_).all()
    assert len(model.history_) == model.n_estimators_
    if isinstance(model, ParityBoostClassifier):  # which keeps no learners
        assert np.isfinite(model.predict_proba(X)).all()
    else:
        assert len(model.estimators_) == model.n_estimators_
    explain.importances(model)
    repr(model)
    clone(model)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "again.json")
        model.save(path)
        again = load(path)
    asked = {"X": X, "sensitive_features": groups}
    np.testing.assert_array_equal(again.decision_function(**asked), model.decision_function(**asked))


def warm_up():
    """Train, write and read every kind once."""
    for data in files():
        model = loaded(data, verify=True)
        use(model)
