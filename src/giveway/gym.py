"""Importing this module makes ``giveway/Ego-v0`` known to Gymnasium.

::

    import gymnasium
    import giveway.gym

    env = gymnasium.make("giveway/Ego-v0", action="accel")
    envs = gymnasium.make_vec("giveway/Ego-v0", num_envs=64, action="accel")
"""

from __future__ import annotations

from giveway.core.extras import require

require(["generate/gymnasium"], purpose="the environment of the ego")

import gymnasium  # noqa: E402 - after it is known to be there

EGO = "giveway/Ego-v0"

if EGO not in gymnasium.registry:
    gymnasium.register(
        id=EGO,
        entry_point="giveway.drive.environment:make_ego_env",
        vector_entry_point="giveway.drive.environment:make_ego_vector_env",
    )
