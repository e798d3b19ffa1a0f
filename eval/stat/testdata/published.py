"""Computes published.json: paired and clustered figures of published data with SciPy and statsmodels.

Not needed to run the tests: pip install scipy statsmodels && python published.py > published.json
"""
import json

import numpy as np
import scipy
import scipy.stats as st
import statsmodels
import statsmodels.api as sm
from statsmodels.stats.proportion import proportion_confint

# C. Darwin, "The Effects of Cross and Self Fertilisation" (1876), Zea mays: crossed minus self-fertilised, in eighths of an inch;
# the permutation test is in R. A. Fisher, "The Design of Experiments" (1935), section 21.
darwin = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
# A. R. Cushny and A. R. Peebles, J. Physiology 32 (1905); "Student", Biometrika 6 (1908): additional hours of sleep, two drugs, ten patients.
sleep = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
# A. Agresti, "Categorical Data Analysis" (2002), table 10.1: approval of a prime minister, two surveys of the same 1,600 people.
approval = [-1] * 150 + [1] * 86
# M. J. Crowder, Applied Statistics 27 (1978): seeds of Orobanche that germinated, of those on each of 21 plates.
seeds = [(10, 39), (23, 62), (23, 81), (26, 51), (17, 39), (5, 6), (53, 74), (55, 72), (32, 51), (46, 79), (10, 13), (8, 16), (10, 30), (8, 28),
         (23, 45), (0, 4), (3, 12), (22, 41), (15, 30), (32, 51), (3, 7)]
# Y. Grunfeld, "The Determinants of Corporate Investment" (1958), as in statsmodels.datasets.grunfeld: investments of 11 firms in 20 years.
grunfeld = [g["invest"].tolist() for _, g in sm.datasets.grunfeld.load_pandas().data.groupby("firm", sort=False)]
# The same with a number of years that differs between the firms.
uneven = [g[: 20 - i] for i, g in enumerate(grunfeld)]


def clustered(clusters, correct=True):
    y = np.concatenate([np.asarray(c, float) for c in clusters])
    groups = np.concatenate([[i] * len(c) for i, c in enumerate(clusters)])
    return sm.OLS(y, np.ones_like(y)).fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": correct}, use_t=True)


def interval(clusters):
    fit = clustered(clusters)
    low, high = fit.conf_int(0.05)[0]
    # statsmodels multiplies by (N-1)/(N-k), which is 1 here: there is one parameter.
    return {"values": clusters, "mean": fit.params[0], "low": low, "high": high}


def rate(plates):
    fit = clustered([[1.0] * r + [0.0] * (n - r) for r, n in plates], correct=False)
    p, v = fit.params[0], fit.cov_params()[0, 0]
    size = p * (1 - p) / v
    low, high = proportion_confint(p * size, size, method="wilson")
    return {"passed": [r for r, _ in plates], "attempts": [n for _, n in plates], "low": low, "high": high}


def flip(differences):
    if len(differences) <= 20:
        p = st.permutation_test((np.array(differences, float), np.zeros(len(differences))), lambda a, b, axis: np.mean(a - b, axis=axis),
                                permutation_type="samples", vectorized=True, n_resamples=np.inf).pvalue
    else:
        p = st.binomtest(differences.count(1), len(differences)).pvalue
    return {"differences": differences, "p": float(p)}


out = {
    "sign_flip": {"darwin": flip(darwin), "approval": flip(approval), "grouped": flip([3, -1, 2, 2, 0, 5, -1, 4])},
    "clustered": {"sleep": interval([[d] for d in sleep]), "grunfeld": interval(grunfeld), "uneven": interval(uneven)},
    "clustered_rate": {"seeds": rate(seeds)},
    "signed_rank": {"darwin": {"differences": darwin, "p": float(st.wilcoxon(darwin, method="exact").pvalue)}},
}
print(f'{{"source": "SciPy {scipy.__version__}, statsmodels {statsmodels.__version__}; see published.py"', end="")
for kind, cases in out.items():
    print(f',\n"{kind}": {{\n' + ",\n".join(f' "{name}": {json.dumps(case)}' for name, case in cases.items()) + "\n}", end="")
print("}")
