"""How well do models predict whether a human takes a gap? Synthetic recordings, three predictors, one table."""

import giveway as gw

gw.synthesize("lgap", "recordings", size=200)
results = gw.run_gaps(
    "quick",
    "results",
    roots={"lgap": "recordings"},
    datasets=["lgap"],
    t0=["constant"],
    predictors=["LR_1D", "DDM", "CV"],
    engine=gw.LocalEngine(0),  # in this process; worker processes need: if __name__ == "__main__"
)
print(results.table(metric="auc", t0="constant").text(), end="")
print(results.compare("LR_1D", "CV", metric="auc", draws=200).text(), end="")
