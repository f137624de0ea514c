"""Do people find the traffic realistic, and do they agree? A small study of drives, rehearsed by simulated raters."""

from pathlib import Path

import giveway as gw
from giveway.study.rehearsal import rehearse  # not promised to stay

gw.run_drive(out="drives", predictors=["constant_velocity", "echo"], max_cases=4)
gw.create_study("form", clips="drives", num_clips=6, seconds=4.0)
rehearse(Path("form"), Path("rehearsal"), num_raters=6)  # with people: gw.serve_study("form")
results = gw.analyze_study("rehearsal", draws=500)
for row in results.table().text().splitlines():
    if row.startswith("  "):
        print(row)
