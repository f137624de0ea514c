"""Which traffic makes a planner fail although it could have coped? A scripted car cuts in before an IDM driver."""

import giveway as gw

found = gw.find_failures("failures", planner="idm", budget=20, driver="cut_in", search="random", perturb=False)
print(found.table().text(), end="")
