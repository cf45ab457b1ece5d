"""``torch.distributions``: the distributions that programs use, with PyTorch's own numbers.

Source: https://docs.pytorch.org/docs/2.13/distributions.html
"""

from __future__ import annotations

from gviz.engine.distributions import transforms
from gviz.engine.distributions.base import Distribution
from gviz.engine.distributions.composed import (
    Gumbel,
    HalfNormal,
    Independent,
    LogNormal,
    MixtureSameFamily,
    RelaxedOneHotCategorical,
    TransformedDistribution,
)  # fmt: skip
from gviz.engine.distributions.counts import (
    Bernoulli,
    Binomial,
    Categorical,
    Geometric,
    Multinomial,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
    Poisson,
)  # fmt: skip
from gviz.engine.distributions.divergences import kl_divergence, register_kl
from gviz.engine.distributions.others import (
    Chi2,
    FisherSnedecor,
    HalfCauchy,
    InverseGamma,
    Kumaraswamy,
    LogisticNormal,
    NegativeBinomial,
    Pareto,
    RelaxedBernoulli,
    VonMises,
    Weibull,
)
from gviz.engine.distributions.reals import (
    Beta,
    Cauchy,
    Dirichlet,
    Exponential,
    Gamma,
    Laplace,
    MultivariateNormal,
    Normal,
    StudentT,
    Uniform,
)  # fmt: skip
from gviz.engine.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)  # fmt: skip
from gviz.numbers.words import absent
from gviz.signatures.pytorch import dir_names

MODULES = {
    "LogNormal": "log_normal", "HalfNormal": "half_normal", "MixtureSameFamily": "mixture_same_family",
    "MultivariateNormal": "multivariate_normal", "OneHotCategorical": "one_hot_categorical", "StudentT": "studentT",
    "OneHotCategoricalStraightThrough": "one_hot_categorical", "RelaxedOneHotCategorical": "relaxed_categorical",
    "TransformedDistribution": "transformed_distribution", "kl_divergence": "kl", "register_kl": "kl",
    "HalfCauchy": "half_cauchy", "InverseGamma": "inverse_gamma", "LogisticNormal": "logistic_normal",
    "NegativeBinomial": "negative_binomial", "RelaxedBernoulli": "relaxed_bernoulli", "VonMises": "von_mises",
}  # fmt: skip
"""The modules in which PyTorch has them, where that is not the name in small letters."""
__all__ = [
    "AbsTransform",
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ComposeTransform",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "FisherSnedecor",
    "Gamma",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "InverseGamma",
    "Kumaraswamy",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "PowerTransform",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "SigmoidTransform",
    "SoftplusTransform",
    "StickBreakingTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "identity_transform",
    "kl_divergence",
    "register_kl",
]  # fmt: skip

# where PyTorch has them: from torch.distributions.normal import Normal
for name in set(__all__) - set(transforms.__all__):
    globals()[name].__module__ = f"torch.distributions.{MODULES.get(name, name.lower())}"
__getattr__ = absent("torch.distributions")


def __dir__() -> list[str]:
    return dir_names("torch.distributions")
