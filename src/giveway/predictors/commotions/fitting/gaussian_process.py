"""The surrogate of Bayesian optimization."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import MissingDependencyError
from giveway.predictors.commotions.fitting.search import Search
from giveway.predictors.commotions.parameters import NUM_PARAMETERS

MIN_VARIANCE = 1e-6


@contextmanager
def quiet_torch() -> Generator[None]:
    """64-bit work on one thread without warnings about conditioning; restores the settings.

    Raises:
        MissingDependencyError: if BoTorch is not installed.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # importing BoTorch warns as well
        try:
            import botorch  # noqa: F401  # pyright: ignore[reportUnusedImport]

            from giveway.predictors.torch_setup import one_torch_thread
        except ImportError as error:
            raise MissingDependencyError("botorch", extra="fit", purpose="Bayesian optimization") from error
        with one_torch_thread():
            yield


def surrogate(search: Search, hyper: Mapping[str, Any] | None, *, refit: bool) -> tuple[Any, dict[str, Any]]:
    """A Gaussian process of the standardized, negated losses, and its hyper-parameters.

    Known noise (square of the standard error, at least 1e-6 after standardizing), constant mean, Matérn-5/2 kernel with
    one length scale per dimension (prior Gamma(3, 6)) and an output scale (prior Gamma(2, 0.15)).

    Args:
        search: what was observed.
        hyper: to start from or, without ``refit``, to use as they are.
        refit: maximize the marginal likelihood plus priors.
    """
    import torch
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.kernels import MaternKernel, ScaleKernel
    from gpytorch.mlls import ExactMarginalLogLikelihood
    from gpytorch.priors import GammaPrior

    loss = np.array([x.mean for x in search.losses])
    error = np.array([x.error for x in search.losses])
    scale = max(float(loss.std(ddof=1)), 1e-12)
    y = torch.tensor(-(loss - loss.mean()) / scale, dtype=torch.float64).unsqueeze(-1)
    noise = torch.tensor(np.maximum((error / scale) ** 2, MIN_VARIANCE)).unsqueeze(-1)
    x = torch.tensor(np.stack(search.points))
    kernel = ScaleKernel(
        MaternKernel(nu=2.5, ard_num_dims=NUM_PARAMETERS, lengthscale_prior=GammaPrior(3.0, 6.0)),
        outputscale_prior=GammaPrior(2.0, 0.15),
    )
    model = SingleTaskGP(x, y, train_Yvar=noise, covar_module=kernel, outcome_transform=None)
    parts: Any = model
    if hyper:
        parts.covar_module.base_kernel.lengthscale = torch.tensor(hyper["lengthscale"], dtype=torch.float64)
        parts.covar_module.outputscale = float(hyper["outputscale"])
        parts.mean_module.constant.data.fill_(float(hyper["constant"]))
    if refit:
        fit_gpytorch_mll(
            ExactMarginalLogLikelihood(parts.likelihood, parts), optimizer_kwargs={"options": {"maxiter": 200}}
        )
    parts.eval()
    if not refit:
        return model, dict(hyper or {})
    kernel_now: Any = parts.covar_module
    found = {
        "lengthscale": kernel_now.base_kernel.lengthscale.detach().numpy().ravel().tolist(),
        "outputscale": float(kernel_now.outputscale.detach()),
        "constant": float(parts.mean_module.constant.detach()),
    }
    # built again from what will be recorded, so that a resumed search continues from the same last bit
    return surrogate(search, found, refit=False)


def as_array(tensor: Any) -> FloatArray:
    """A tensor as 64-bit numbers."""
    return np.asarray(tensor.detach().numpy(), dtype=np.float64)
