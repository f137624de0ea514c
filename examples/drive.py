"""Does a better prediction make a better drive? Two predictors drive six bundled cases."""

import giveway as gw

results = gw.run_drive(out="drives", predictors=["constant_velocity", "echo"], max_cases=6)
print(results.table().text(), end="")
