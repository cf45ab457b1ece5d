"""PyTorch 2.13's random numbers, recorded; the test marked torch draws from it anew."""

from __future__ import annotations

import random as python_random
import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest

from gviz import engine
from gviz.numbers import random

FLOAT64 = np.dtype(np.float64)


class Drawn(NamedTuple):
    """What one seed gave for these calls, one after the other."""

    seed: int
    rand: list[float]  # rand(3)
    randn: list[float]  # randn(5), which keeps a sixth number
    many: list[float]  # randn(20)[[0, 15, 16, 19]]
    integers: list[int]  # randint(0, 100, (4,))
    order: list[int]  # randperm(5)
    wide: list[float]  # rand(2), float64
    between: list[float]  # uniform(-0.5, 0.5), 2 elements
    around: list[float]  # normal(1, 2), 2 elements; the first is the kept one
    coins: list[float]  # bernoulli of four times 0.5
    mask: list[float]  # bernoulli_(0.5), 4 elements
    last: float  # rand(1)


DRAWN = [
    Drawn(
        0,
        [0.49625658988952637, 0.7682217955589294, 0.08847743272781372],
        [0.3643381893634796, 0.13439632952213287, 0.16421625018119812, 0.3057610094547272, 0.20998091995716095],
        [0.8503773808479309, -1.4688938856124878, -1.586688756942749, -1.2001394033432007],
        [69, 73, 41, 11],
        [0, 4, 3, 2, 1],
        [0.9336658785608346, 0.6086419936340745],
        [0.1510535478591919, 0.2744860053062439],
        [2.8112523555755615, -3.5715386867523193],
        [0.0, 1.0, 1.0, 0.0],
        [1.0, 0.0, 0.0, 1.0],
        0.944246232509613,
    ),
    Drawn(
        42,
        [0.8822692632675171, 0.9150039553642273, 0.38286375999450684],
        [-0.829319179058075, -1.6137069463729858, -0.21470452845096588, 0.29893550276756287, -0.01069642137736082],
        [0.5201311707496643, -1.234653115272522, -0.4879138767719269, 0.049905385822057724],
        [9, 70, 39, 86],
        [4, 0, 1, 3, 2],
        [0.15794592263453056, 0.2698393681164384],
        [-0.17219114303588867, 0.15320813655853271],
        [-1.4983572959899902, 2.4090898036956787],
        [1.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 1.0],
        0.1591441035270691,
    ),
    Drawn(
        -5,
        [0.9308151006698608, 0.6607242226600647, 0.9807688593864441],
        [-0.4252379536628723, 0.11124144494533539, 1.3633784055709839, -0.27184492349624634, -2.1863248348236084],
        [0.07688238471746445, 0.33066582679748535, -1.0892460346221924, -0.7778379321098328],
        [93, 68, 97, 0],
        [4, 2, 0, 1, 3],
        [0.6892510168906018, 0.9242045847371],
        [-0.3586788773536682, 0.44678163528442383],
        [1.42911696434021, -1.0059045553207397],
        [1.0, 0.0, 1.0, 0.0],
        [1.0, 1.0, 0.0, 0.0],
        0.3899044394493103,
    ),
]


@pytest.mark.parametrize("drawn", DRAWN, ids=lambda drawn: str(drawn.seed))
def test_mixed_draws_stay_in_step_with_pytorch(drawn: Drawn) -> None:
    engine.manual_seed(drawn.seed)
    assert random.rand((3,)).tolist() == drawn.rand
    assert random.randn((5,)).tolist() == drawn.randn
    assert random.randn((20,))[[0, 15, 16, 19]].tolist() == pytest.approx(drawn.many, abs=5e-7)
    assert random.randint(0, 100, (4,)).tolist() == drawn.integers
    assert random.randperm(5).tolist() == drawn.order
    assert random.rand((2,), FLOAT64).tolist() == drawn.wide
    assert random.uniform((2,), -0.5, 0.5).tolist() == drawn.between
    assert random.normal((2,), 1, 2).tolist() == drawn.around
    assert random.bernoulli(np.full(4, 0.5, np.float32)).tolist() == drawn.coins
    assert random.bernoulli(0.5, (4,)).tolist() == drawn.mask
    assert random.rand((1,)).tolist() == [drawn.last]


def test_only_the_lower_32_bits_of_a_seed_count() -> None:
    engine.manual_seed(2**40)
    assert random.rand((3,)).tolist() == DRAWN[0].rand
    assert engine.initial_seed() == 2**40


def test_a_negative_seed_is_counted_from_the_top() -> None:
    assert engine.manual_seed(-1).initial_seed() == 2**64 - 1


def test_seeding_anew_forgets_the_kept_normal_number() -> None:
    engine.manual_seed(0)
    first = random.randn((1,))
    engine.manual_seed(0)
    assert random.randn((1,)) == first


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1])
def test_a_seed_of_more_than_64_bits_is_refused(seed: int) -> None:
    with pytest.raises(ValueError, match=r"^Overflow when unpacking long long$"):
        engine.manual_seed(seed)


@pytest.mark.parametrize("seed", [1.5, "a", True])
def test_a_generator_is_seeded_with_an_integer(seed: Any) -> None:
    with pytest.raises(RuntimeError) as caught:
        random.Generator().manual_seed(seed)
    assert str(caught.value) == f"manual_seed expected a long, but got {type(seed).__name__}"


def test_float64_complex_float16_and_wide_integers_follow_pytorch() -> None:
    engine.manual_seed(0)
    normal = random.randn((2, 2), FLOAT64)
    assert normal.tolist() == [[1.5409961082440433, -0.2934289057609464], [-2.1787893820745574, 0.5684312772806678]]
    assert random.randint(0, 2**40, (2,)).tolist() == [41332891347, 91845220082]
    parts = [0.022325754165649414 + 0.16885894536972046j, 0.2938884496688843 + 0.518521785736084j]
    assert random.rand((2,), np.dtype(np.complex64)).tolist() == parts
    assert random.rand((2,), np.dtype(np.float16)).tolist() == [0.69775390625, 0.7998046875]


def test_shapes_without_elements_draw_nothing() -> None:
    engine.manual_seed(0)
    assert (random.rand((0, 3)).shape, random.randn((2, 0)).shape) == ((0, 3), (2, 0))
    assert random.randperm(0).shape == random.randint(0, 5, (0,)).shape == (0,)
    assert random.rand((3,)).tolist() == DRAWN[0].rand


def test_a_state_brings_the_stream_back() -> None:
    engine.manual_seed(3)
    random.randn((3,))  # a fourth is kept
    state = engine.get_rng_state()
    expected = random.randn((5,)).tolist(), random.rand((700,)).tolist()
    engine.set_rng_state(state)
    assert (random.randn((5,)).tolist(), random.rand((700,)).tolist()) == expected
    assert (state.numpy().dtype, state.shape) == (np.uint8, (5056,))


def test_a_wrong_state_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"^RNG state is wrong size$"):
        engine.set_rng_state(engine.zeros(3, dtype=engine.uint8))
    with pytest.raises(TypeError, match=r"^expected a torch.ByteTensor, but got bytes$"):
        engine.set_rng_state(b"abc")


def test_generators_are_independent_of_the_default_one() -> None:
    engine.manual_seed(0)
    own = random.Generator().manual_seed(0)
    random.rand((9,), generator=own)
    assert random.rand((3,)).tolist() == DRAWN[0].rand


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: random.randint(5, 2, (2,)),
            RuntimeError,
            "random_ expects 'from' to be less than 'to', but got from=5 >= to=2",
        ),
        (lambda: random.normal((2,), 0, -1), RuntimeError, "normal expects std >= 0.0, but found std -1"),
        (
            lambda: random.uniform((2,), 2, 1),
            RuntimeError,
            "uniform_ expects to return a [from, to) range, but found from=2 > to=1",
        ),
        (
            lambda: random.rand((2,), np.dtype(np.int64)),
            NotImplementedError,
            "\"check_uniform_bounds\" not implemented for 'Long'",
        ),
        (
            lambda: random.randn((2,), np.dtype(np.int64)),
            NotImplementedError,
            "\"normal_kernel_cpu\" not implemented for 'Long'",
        ),
        (
            lambda: random.bernoulli(np.array([1])),
            NotImplementedError,
            "\"bernoulli_tensor_cpu_p_\" not implemented for 'Long'",
        ),
        (lambda: random.bernoulli(2, (2,)), RuntimeError, "bernoulli_ expects p to be in [0, 1], but got p=2"),
        (lambda: random.randperm(-1), RuntimeError, "Trying to create tensor with negative dimension -1: [-1]"),
    ],
)
def test_impossible_draws_get_pytorchs_message(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == text


def test_numpy_random_is_not_loaded_before_the_first_draw() -> None:
    code = "import gviz.numbers.random, sys; sys.exit('numpy.random' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.torch
@pytest.mark.parametrize("seed", [0, 1, 42, 2**40, -1, -(2**63), 2**64 - 1])
def test_any_sequence_of_draws_stays_in_step_with_torch(seed: int) -> None:
    torch = pytest.importorskip("torch")
    choose = python_random.Random(seed)  # noqa: S311 - not for secrets
    engine.manual_seed(seed)
    torch.manual_seed(seed)
    types = {np.dtype(name): getattr(torch, name) for name in ("float16", "float32", "float64", "complex64", "complex128")}
    for _ in range(100):
        shape = choose.choice([(), (3,), (0,), (20,), (16,), (15,), (2, 3), (31,), (700,)])
        dtype = choose.choice(list(types))
        kind, real = types[dtype], torch.float32
        pairs = [
            (random.rand(shape, dtype), torch.rand(shape, dtype=kind)),
            (random.randint(-3, 2**31, shape), torch.randint(-3, 2**31, shape)),
            (random.randn(shape, dtype), torch.randn(shape, dtype=kind)),
            (random.randperm(9), torch.randperm(9)),
            (random.bernoulli(0.3, shape), torch.empty(shape, dtype=real).bernoulli_(0.3)),
            (random.uniform(shape, -0.1, 0.3), torch.empty(shape, dtype=real).uniform_(-0.1, 0.3)),
        ]
        for array, tensor in pairs:
            expected = tensor.numpy()
            assert array.dtype == expected.dtype
            np.testing.assert_allclose(array, expected, rtol=0, atol=2e-3 if dtype.itemsize == 2 else 5e-7)
    assert engine.get_rng_state().tolist() == torch.get_rng_state().tolist()
