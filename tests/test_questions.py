"""Questions to a model while its program runs: gviz.why(loss, model) and the others, on both engines."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from live_models import (
    FAULTS,
    SOUND,
    Case,
    Fault,
    data_of,
    detached_head,
    gradient_penalty,
    half_underflow_forward,
    loss_scale_too_large,
    masked_mean_of_nothing,
    nan_in_data,
    nan_in_weights,
    net_of,
    sum_of_normalized,
)
from program import Program

import gviz
from gviz.layout import RenderWarning

ENGINES = ["gviz.engine", pytest.param("torch", marks=pytest.mark.torch)]

FAILING = ("no path", "leaf root", "zero", "nan", "inf", "written in place", "second backward", "failed")
"""Verdicts at which gviz.assert_gradients fails."""


@pytest.fixture(params=ENGINES)
def torch(request: pytest.FixtureRequest) -> Any:
    """The engine of gviz, and the real torch."""
    module = pytest.importorskip(request.param)
    module.manual_seed(0)
    return module


def test_what_has_written_nan_into_a_weight_is_not_guessed(torch: Any) -> None:
    loss, model = nan_in_weights(torch)
    assert {cause.mend for cause in gviz.why(loss, model)} == {"", "see what has written it"}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.case.__name__)
def test_a_fault_is_found_with_its_cause(torch: Any, fault: Fault) -> None:
    loss, model = fault.case(torch)
    causes = gviz.why(loss, model)
    assert (causes[fault.name].verdict, fault.words in causes[fault.name].what) == (fault.verdict, True)
    assert {name: causes[name].verdict for name in fault.fine} == dict.fromkeys(fault.fine, "ok")
    if causes[fault.name].is_meant and fault.fine:  # as a layer that begins at 0: others have gradients
        assert not gviz.assert_gradients(loss, model).wrong
    elif fault.verdict in FAILING:
        with pytest.raises(AssertionError, match=fault.verdict):
            gviz.assert_gradients(loss, model)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_layers_with_a_state_say_alike_that_their_data_are_0_and_that_no_step_has_left_a_state(
    torch: Any, kind: str
) -> None:
    net = getattr(torch.nn, kind)(3, 4)
    cause = gviz.why(net(torch.zeros(5, 2, 3))[0].pow(2).mean(), net)["weight_ih_l0"]
    assert (cause.verdict, cause.is_wrong, cause.mend[:19]) == ("zero", True, "the other factor is"), cause
    cause = gviz.why(net(data_of(torch)[None])[0].pow(2).mean(), net)["weight_hh_l0"]
    assert (cause.verdict, cause.mend[:45]) == ("zero", "none, if each sequence has one step alone; el"), cause


def test_a_loss_times_0_is_not_said_to_be_a_perfect_fit(torch: Any) -> None:
    net = net_of(torch)
    cause = gviz.why(0.0 * net(data_of(torch)).pow(2).mean(), net)["0.weight"]
    assert (cause.is_wrong, cause.mend.startswith("the other factor is 0")) == (True, True), cause
    net.append(torch.nn.Linear(2, 1)).append(torch.nn.Softmax(-1))
    chances = net(data_of(torch))
    cause = gviz.why(torch.nn.functional.binary_cross_entropy(chances, torch.ones(2, 1)), net)["0.weight"]
    assert "softmax of one element is 1" in cause.mend, cause


def test_a_division_by_0_is_found_in_the_root_alone(torch: Any) -> None:
    loss, model = masked_mean_of_nothing(torch)
    whole, own = gviz.why(loss, model)["0.weight"], gviz.why(loss)
    assert whole.mend == own.mend == "it is a division by 0: add a small number to the divisor"
    assert own.what == "loss is nan: / divides by 0, which gives nan or inf whatever is divided"


def test_what_cancels_out_in_half_precision_is_no_underflow(torch: Any) -> None:
    layer = torch.nn.Linear(3, 2).half()
    rows = torch.tensor([[1.0, 2.0, 3.0], [-1.0, -2.0, -3.0]], dtype=torch.float16)
    causes = gviz.why((layer(rows) * 1e-5).sum(), layer)
    assert causes["weight"].verdict == "zero"
    assert "less than" not in causes["weight"].what


def test_that_float16_may_have_made_the_loss_0_is_told_and_where_it_ends(torch: Any) -> None:
    (small, of_small), (large, of_large) = half_underflow_forward(torch), loss_scale_too_large(torch)
    assert "else float16 makes 0 of what is less than 6e-8" in gviz.why(small, of_small)["weight"].mend
    cause = gviz.why(large, of_large)["weight"]
    assert cause.what.endswith("hands on -inf, backward")
    assert cause.mend.endswith("float16, which ends at 65504: take a smaller loss scale, as torch.amp.GradScaler does")


@pytest.mark.parametrize("activation", ["LeakyReLU", "PReLU"])
def test_a_second_derivative_that_is_0_everywhere_is_no_fault(torch: Any, activation: str) -> None:
    causes = gviz.assert_gradients(*gradient_penalty(activation, torch))
    assert causes["0.bias"].mend.startswith("none, if loss is made of gradients, as a gradient penalty is; else take")
    assert ("is 0 everywhere" in causes["0.bias"].what) == (activation == "LeakyReLU")


@pytest.mark.parametrize("case", SOUND)
def test_of_a_sound_model_no_fault_is_told_before_backward_and_after_it(torch: Any, case: Case) -> None:
    losses, model = case(torch)
    before = gviz.assert_gradients(losses, model)
    assert not before.wrong
    if not isinstance(losses, dict) and all(parameter.grad is None for parameter in model.parameters()):
        losses.backward()
        after = gviz.why(losses, model)
        assert not after.wrong
        assert str(after) == str(before)


def test_asking_leaves_gradients_and_graph_as_they_are(torch: Any) -> None:
    net = net_of(torch)
    loss = net(data_of(torch)).sum()
    gviz.why(loss, net)
    assert all(parameter.grad is None for parameter in net.parameters())
    loss.backward()
    gradient = net[0].bias.grad.tolist()
    gviz.why(loss, net)
    assert net[0].bias.grad.tolist() == gradient


def test_a_gradient_that_was_clipped_is_no_sum_and_of_a_freed_graph_it_may_be_one(torch: Any) -> None:
    net = net_of(torch)
    loss = net(data_of(torch)).sum()
    loss.backward(retain_graph=True)
    torch.nn.utils.clip_grad_norm_(net.parameters(), 0.01)
    assert "the program has made it smaller" in gviz.why(loss, net)["0.weight"].what
    loss.backward()
    assert "added to it is not known" in gviz.why(loss, net)["0.weight"].what


def test_the_line_that_clears_a_gradient_can_be_run_for_a_module_in_a_list(torch: Any) -> None:
    net = net_of(torch)
    loss = net(data_of(torch)).sum()
    loss.backward(retain_graph=True)
    loss.backward(retain_graph=True)
    line = gviz.why(loss, net)["0.weight"].mend.split(", ")[1].removeprefix("or ")
    exec(line, {"model": net})  # noqa: S102 - the mend, as it stands
    assert gviz.why(loss, net)["0.weight"].verdict == "ok", line


def test_an_update_after_a_backward_that_kept_the_graph_may_be_no_fault(torch: Any) -> None:
    w = torch.ones(2, requires_grad=True)
    y = (3 * w * w).sum()
    y.backward(retain_graph=True)
    with torch.no_grad():
        w.add_(1)
    cause = gviz.why(y, w)
    assert (cause.is_wrong, "of y itself, if retain_graph=True has kept its graph" in cause.what) == (False, True), (
        cause
    )
    h = w.exp()
    h.add_(1)
    cause = gviz.why(h.sum(), w)
    assert (cause.is_wrong, "w was written" in cause.what) == (True, False), cause


def test_the_call_that_shows_paths_can_be_made(torch: Any) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    loss = model(torch.rand(2, 3)).mean() - model(torch.rand(2, 3)).mean()
    cause = gviz.why(loss, model)["2.bias"]
    mend, what = cause.mend, "what comes to it from its 2 uses cancels out"
    assert what in cause.what
    assert 'gviz.explain(loss, wrt="2.bias", params=model) shows the paths' in mend
    assert "2.bias" in str(gviz.explain(loss, wrt="2.bias", params=model))


def test_a_bias_whose_parts_cancel_out_passes_beside_other_gradients_and_not_alone(torch: Any) -> None:
    """As that of a ranker which is trained by the differences of its scores."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    good, bad = torch.rand(5, 3), torch.rand(5, 3)
    causes = gviz.assert_gradients((model(good) - model(bad)).tanh().sum(), model)
    assert (causes["2.bias"].verdict, causes["2.bias"].is_wrong, causes.wrong) == ("zero", False, [])
    model[0].requires_grad_(False)
    model[2].weight.requires_grad_(False)
    with pytest.raises(AssertionError, match="what comes to it from its 2 uses cancels out"):
        gviz.assert_gradients((model(good) - model(bad)).tanh().sum(), model)


def test_zeros_of_a_bias_beside_a_weight_pass_though_a_freed_graph_does_not_tell_where_they_began(torch: Any) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    loss = (model(torch.rand(5, 3)) - model(torch.rand(5, 3))).tanh().sum()
    loss.backward()
    cause = gviz.assert_gradients(loss, model)["2.bias"]
    assert cause.what.endswith("where it became so is not known; that of 2.weight was not 0")
    assert cause.mend.startswith("none, if what comes to 2.bias is to cancel out; else ask before backward()")
    loss = (model(torch.rand(5, 3)) - 5).relu().sum()  # nothing comes to the weight either
    model.zero_grad()
    loss.backward()
    with pytest.raises(AssertionError, match="4 of 4 parameters"):
        gviz.assert_gradients(loss, model)


def test_a_gradient_that_was_cleared_is_none_that_can_be_checked(torch: Any) -> None:
    net = net_of(torch)
    loss = net(data_of(torch)).sum()
    loss.backward()
    net.zero_grad()
    assert {cause.verdict for cause in gviz.why(loss, net)} == {"cleared"}
    with pytest.raises(AssertionError, match=r"0\.weight: cleared"):
        gviz.assert_gradients(loss, net)


def test_a_gradient_of_a_penalty_that_was_cleared_is_told_as_any_other(torch: Any) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    x = torch.ones(2, 3, requires_grad=True)
    (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    loss = (slope.norm(dim=1) - 1).pow(2).mean() + net(x).mean()
    loss.backward()
    net.zero_grad()
    assert {cause.verdict for cause in gviz.why(loss, net)} == {"cleared"}


def test_one_tensor_is_asked_about(torch: Any) -> None:
    net = net_of(torch)
    weight, hidden = net[0].weight, net[0](data_of(torch))
    loss = torch.log(hidden * 0).sum()
    assert "gviz.why(loss, net.0.weight)" in gviz.why(weight).mend
    assert gviz.why(hidden).verdict == "not a leaf"
    assert gviz.why(hidden).mend.startswith("none: its numbers are finite")
    assert gviz.why(torch.exp(hidden * 1000 + 1e6).sum()).verdict == "inf"
    assert gviz.why(loss).what == "loss is -inf: log makes the first of them, forward"
    assert gviz.why(loss, weight).verdict == "nan"
    grown = gviz.why(torch.exp(hidden * 1000 + 1e6).sum() + 1).what
    assert (
        grown == "tensor is inf: the result of exp is not finite, forward; its input was not kept, and may be so, too"
    )


def test_what_may_be_without_a_gradient_is_left_out_of_the_check(torch: Any) -> None:
    loss, net = detached_head(torch)
    with pytest.raises(AssertionError) as caught:
        gviz.assert_gradients(loss, net)
    head, cause, table = str(caught.value).split("\n\n")
    assert head == "2 of 4 parameters have no gradient as it should be"
    assert cause.startswith("0.weight: no path\nno path leads from loss to 0.weight")
    assert table.splitlines()[1].split()[:3] == ["0.bias", "no", "path"]
    gviz.assert_gradients(loss, net, allow_none=("0.*",))
    with pytest.raises(AssertionError, match=r"the norm of all gradients is [\d.]+, more than max_norm=0.001"):
        gviz.assert_gradients(loss, net, allow_none="0.*", max_norm=0.001)


def test_the_loss_of_a_models_output_is_asked_about_and_a_list_has_the_names_of_variables(torch: Any) -> None:
    net = net_of(torch)
    scores = net(data_of(torch))
    output = {"scores": scores, "loss": scores.mean()}
    assert [cause.verdict for cause in gviz.why(output, net)] == ["ok"] * 4
    assert [cause.name for cause in gviz.why(output, [net[0].weight, net[2].bias])] == ["net.0.weight", "net.2.bias"]
    with pytest.raises(TypeError, match="there are no parameters to ask about"):
        gviz.why(output, {})


def test_after_backward_no_targets_are_blamed_for_an_input_that_was_not_kept(torch: Any) -> None:
    z = torch.tensor([[0.0, 200.0]], requires_grad=True)
    loss = torch.nn.functional.nll_loss(torch.log(torch.softmax(z, 1)), torch.tensor([0]))
    loss.backward()
    assert gviz.why(loss).mend.startswith("look at what goes into it")


def test_of_what_a_reentrant_checkpoint_hides_nothing_is_told(torch: Any) -> None:
    checkpoint = import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    net = net_of(torch)
    loss = checkpoint(net, data_of(torch).requires_grad_(), use_reentrant=True).sum()
    assert {cause.verdict for cause in gviz.why(loss, net)} == {"hidden"}
    loss.backward()
    assert {cause.verdict for cause in gviz.assert_gradients(loss, net)} == {"ok"}


def test_lines_are_those_that_anomaly_mode_has_kept(torch: Any) -> None:
    net = net_of(torch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's, that the mode is slow
        with torch.autograd.detect_anomaly():
            loss = torch.log(net(data_of(torch)) * 0).mean()
    ((place, code),) = gviz.why(loss).lines
    assert (Path(place.file).name, code) == ("test_questions.py", "loss = torch.log(net(data_of(torch)) * 0).mean()")


def test_a_retained_gradient_of_another_size_is_left_as_it_is(torch: Any) -> None:
    """Of a tensor that has nothing to do with the loss: the question puts back what it has changed alone."""
    other = torch.ones(1, 2, 3, requires_grad=True) * 2
    other.retain_grad()
    other.sum().backward()
    other.data = torch.zeros(2, 3)
    net = torch.nn.Linear(2, 1)
    loss = net(torch.ones(1, 2)).sum()
    loss.backward()
    assert {cause.verdict for cause in gviz.why(loss, net)} == {"ok"}
    assert other.grad.shape == (1, 2, 3)


def test_a_copy_of_nan_has_not_made_it(torch: Any) -> None:
    layers, x = [torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)], torch.ones(2, 3, 4)
    mask = torch.tensor([[False, False, True], [True, True, True]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's, that the mode is slow
        with torch.autograd.detect_anomaly():
            for layer in layers:
                q = layer(x).view(2, 3, 2, 2).transpose(1, 2)
                scores = (q @ q.transpose(-2, -1)).masked_fill(mask[:, None, None, :], float("-inf"))
                weights = scores.softmax(-1)
                x = (weights @ q).transpose(1, 2).reshape(2, 3, 4)
            loss = x.mean()
    for cause in gviz.why(loss, layers[0]):
        assert [code for _, code in cause.lines] == ["weights = scores.softmax(-1)"]
        assert cause.mend.startswith("a row of nothing but -inf has no softmax")


def test_anomaly_mode_raises_for_the_program_alone(torch: Any) -> None:
    w = torch.tensor([0.0, 1.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly():
            loss = torch.sqrt(w).sum() * 0
            (cause,) = gviz.why(loss, {"w": w})
            with pytest.raises(RuntimeError, match="returned nan values"):
                loss.backward()
    assert (cause.verdict, Path(cause.lines[0][0].file).name) == ("nan", "test_questions.py")


def test_a_module_without_parameters_is_asked_what_it_holds(torch: Any) -> None:
    class Net(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layers = {"first": torch.nn.Linear(3, 1)}

    net = Net()
    causes = gviz.why(net.layers["first"](data_of(torch)).sum(), net)
    assert {cause.name: cause.verdict for cause in causes} == {
        "layers['first'].weight": "no parameter",
        "layers['first'].bias": "no parameter",
    }


def test_a_table_is_text_html_and_data(torch: Any) -> None:
    causes = gviz.why(*detached_head(torch))
    assert [line.split()[:2] for line in str(causes).splitlines()[-3:-1]] == [["2.weight", "ok"], ["2.bias", "ok"]]
    assert str(causes).endswith("\n2 of 4 gradients are not as they should be")
    assert max(map(len, str(causes).splitlines())) <= 80
    assert causes._repr_html_().startswith("<table>")
    assert [one["verdict"] for one in causes.to_dict()] == ["no path", "no path", "ok", "ok"]
    assert json.dumps(causes.to_dict())
    bad = gviz.why(*nan_in_data(torch))
    assert "loss is nan: to ask about it alone may tell where that began" in str(bad)


def test_a_saved_graph_is_asked_without_torch(torch: Any, gviz: Program) -> None:
    import gviz as library

    loss, net = detached_head(torch)
    library.save(loss, gviz.folder / "run.json", model=net)
    causes = json.loads(gviz("why", "run.json", "--json").out)
    assert {one["name"]: one["verdict"] for one in causes}["0.weight"] == "no path"
    assert [one["what"] for one in causes if one["name"] == "0.weight"] == [library.why(loss, net)["0.weight"].what]
    assert gviz("why", "run.json", "2.weight").out.startswith("2.weight: ok")
    assert "2.weight" in gviz("inspect", "run.json").out
    assert "AddmmBackward0" in gviz("summary", "run.json").out


def test_a_saved_graph_has_the_gradient_that_there_is_and_what_backward_adds_beside_it(
    torch: Any, gviz: Program
) -> None:
    import gviz as library

    w, v, u = (torch.tensor([1.0, -2.0], requires_grad=True) for _ in range(3))
    ((w**2).sum() + u.sum()).backward()
    loss = (3 * w).sum() + v.sum()
    library.save(loss, gviz.folder / "run.json", params={"u": u})
    table = library.inspect(gviz.folder / "run.json")
    columns = table.columns()
    adds = dict(zip(columns["name"], zip(columns["grad"], columns["backward_adds"], strict=True), strict=True))
    assert (adds["w"], adds["v"], adds["u"]) == (("[2, -4]", "[3, 3]"), ("None", "[1, 1]"), ("[1, 1]", "None"))
    assert "grad is that of another backward" in gviz("inspect", "run.json").out
    assert "w.grad is [2, -4]; backward brings [3, 3]" in " ".join(
        gviz("explain", "run.json", "--wrt", "w").out.split()
    )
    verdicts = {one["name"]: one["verdict"] for one in json.loads(gviz("why", "run.json", "--json").out)}
    assert (verdicts["w"], verdicts["v"], verdicts["u"]) == ("accumulated", "ok", "no path")
    read = {cause.name: cause for cause in library.why(gviz.folder / "run.json")}
    assert {name: cause.what for name, cause in read.items() if name in "uvw"} == {
        name: library.why(loss, {name: one}).causes[0].what for name, one in (("w", w), ("v", v), ("u", u))
    }
    loss.backward(retain_graph=True)
    library.save(w.sum(), gviz.folder / "after.json")
    assert library.inspect(gviz.folder / "after.json").columns()["grad"][0] == "[5, -1]"
    alone = (v * 2).sum()
    v.grad = None
    alone.backward(retain_graph=True)
    library.save(alone, gviz.folder / "own.json")
    assert "backward_adds" not in library.inspect(gviz.folder / "own.json").columns()


def test_what_a_model_returns_may_be_nested(torch: Any) -> None:
    @dataclass
    class Output:
        loss: Any
        hidden: tuple[Any, ...]
        label: str = "cat"

    x = torch.ones(2, requires_grad=True)
    output = Output((x * 2).sum(), (x * 3, x.detach()))
    assert gviz.graph(output, {"x": x}).title == "output.loss, output.hidden[0]"
    assert gviz.graph({"a": {"b": x * 2}}).title == "a.b"
    assert gviz.graph([[x * 2, 1], x * 3], [x]).title == "output1[0], output2"
    assert {node.name for node in gviz.graph(x * 2, [x]).nodes if node.kind == "leaf"} == {"params[0]"}


@pytest.mark.parametrize("is_counted", [True, False])
def test_after_an_update_the_numbers_of_a_leaf_are_said_to_be_those_of_now(torch: Any, *, is_counted: bool) -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (w * w).sum()
    y.backward()
    with torch.no_grad():
        (w if is_counted else w.data).add_(1)
    w.grad = None
    text = " ".join(str(gviz.explain(y, wrt=w)).split())
    assert "w = [2, 3]" in text
    assert "y = sum(a) = 5" in text
    assert "the numbers of w are those of now, which may not be those that the results were computed from" in text
    assert "backward did not run" not in text
    assert "not checked: the steps of backward are not in this graph: backward had freed it" in text
    if is_counted:
        table = gviz.inspect(y)
        assert table.columns()["note"] == ["its numbers are those of now", ""]
        assert str(table) == str(gviz.inspect(gviz.graph(y)))
    assert "of now" not in str(gviz.explain((w * w).sum(), wrt=w))


def test_an_update_of_a_leaf_that_no_operation_has_saved_is_said(torch: Any) -> None:
    w, layer = torch.tensor([1.0, 2.0], requires_grad=True), torch.nn.Linear(2, 1)
    loss = (w * torch.tensor([3.0, 4.0])).sum() ** 2
    assert "of now" not in str(gviz.explain(loss, wrt=w))
    with torch.no_grad():
        w -= 0.1
    assert "the numbers of w are those of now" in " ".join(str(gviz.explain(loss, wrt=w)).split())
    assert "of now" not in str(gviz.explain((w * w).sum(), wrt=w)), "it has saved w, as it is"
    assert "of now" not in str(gviz.inspect(layer(torch.ones(2)).sum(), model=layer)), (
        "a layer fills its weights itself"
    )


def test_a_kept_graph_whose_tensor_was_written_since_is_not_called_freed(torch: Any, tmp_path: Path) -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (w * w).sum()
    y.backward(retain_graph=True)
    with torch.no_grad():
        w.add_(1)
    text = " ".join(str(gviz.explain(y, wrt=w)).split())
    assert "not in this graph: what it saved for backward was written since; w.grad is [2, 4]" in text
    assert "the numbers of w are those of now" in text
    with pytest.warns(RenderWarning, match="was written in place since; draw the graph before that"):
        gviz.graph(y).save(tmp_path / "y.svg", view="circuit")


@pytest.mark.parametrize("has_run", [False, True])
def test_a_question_leaves_the_gradients_that_are_retained_as_they_are(torch: Any, *, has_run: bool) -> None:
    kept = [torch.tensor([1.0, 2.0], requires_grad=True) * 3]  # no variable
    kept[0].retain_grad()
    y = (kept[0] ** 2).sum()
    if has_run:
        y.backward(retain_graph=True)
    before = None if kept[0].grad is None else kept[0].grad.tolist()
    gviz.why(y, {"kept": kept[0]})
    assert before == (kept[0].grad.tolist() if has_run else kept[0].grad)


@pytest.mark.parametrize("file", ["y.svg", "y.html"])
def test_steps_say_at_each_step_that_the_numbers_of_a_leaf_are_those_of_now(
    torch: Any, tmp_path: Path, file: str
) -> None:
    w = torch.tensor(2.0, requires_grad=True)
    loss = (w * 3.0 + 1.0) ** 2
    loss.backward()
    with torch.no_grad():
        w -= 0.1
    gviz.steps(loss, str(tmp_path / file))
    files = sorted(tmp_path.iterdir())
    assert files
    for one in files:
        text = one.read_text()
        assert "its numbers are those of now" in text
        assert ">_<" not in text, "no statement of a title is about a tensor without a name"


def test_the_commands_answer_about_tensors(torch: Any, tmp_path: Path) -> None:
    x, w = torch.tensor(2.0), torch.tensor(3.0, requires_grad=True)
    y = (x * w).tanh()
    assert str(gviz.explain(y, wrt=w)).startswith("The gradient of y, path by path")
    assert gviz.steps(y, str(tmp_path / "y.html")) == [str(tmp_path / "y.html")]
    assert gviz.summary(y).kinds == (("TanhBackward0", 1), ("MulBackward0", 1))
    assert gviz.summary("y=tanh(x*w)", x=2, w=[1, 2]).kinds == gviz.summary(y).kinds
    with pytest.raises(gviz.GvizError, match="x not used"):
        gviz.summary(y, x=2)
    assert [row.name for row in gviz.inspect(y, only="leaf").rows] == ["w"]
    with pytest.raises(TypeError, match="'leafs' is none of leaf, nonleaf, frozen, none"):
        gviz.inspect(y, only="leafs")


def test_a_variable_that_requires_no_gradient_is_an_operand_by_its_name_and_refused_as_frozen(torch: Any) -> None:
    v, added, w = torch.tensor([3.0, 3.0]), torch.ones(2), torch.ones(2, requires_grad=True)
    y = (w * v + added).sum()
    assert "w = [1, 1], v = [3, 3]\n  a = w·v of size (2)\n" in str(gviz.explain(y))
    for name, one in (("v", v), ("v", "v"), ("added", added), ("one", torch.ones(3))):
        with pytest.raises(gviz.GvizError) as raised:
            gviz.explain(y, wrt=one)
        assert raised.value.what == f"no path from y to {name}: it requires no gradient"


def test_the_picture_of_a_frozen_tensor_does_not_say_that_it_keeps_a_gradient(torch: Any, tmp_path: Path) -> None:
    v = torch.ones(2)
    gviz.graph(v).save(tmp_path / "v.dot")
    text = (tmp_path / "v.dot").read_text()
    assert "needs no gradient" in text
    assert "keeps its grad" not in text


def test_no_operation_is_blamed_whose_inputs_are_not_known(torch: Any) -> None:
    net = torch.nn.Linear(2, 1)
    cause = gviz.why(((net(torch.ones(3, 2)) * 1e30) * 1e30).sum(), net)["weight"]
    assert "makes the first" not in cause.what


@pytest.mark.parametrize("loss", [None, 1.5, []])
def test_a_loss_that_is_no_tensor_is_refused(torch: Any, loss: Any) -> None:
    with pytest.raises(gviz.GvizError, match="begins at a loss that is a tensor") as caught:
        gviz.why(loss, torch.nn.Linear(2, 1))
    assert caught.value.hint == "give the loss as it is before item() or float(), and then the model"


def test_parameters_may_be_those_that_an_optimizer_gets(torch: Any) -> None:
    net = torch.nn.Linear(2, 1)
    assert [cause.verdict for cause in gviz.why(net(torch.ones(1, 2)).sum(), net.parameters())] == ["ok", "ok"]


def test_a_product_that_is_too_large_for_its_dtype_is_told(torch: Any) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)).half()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.fill_(100.0)
    loss = net(torch.ones(2, 4).half()).float().pow(2).mean()
    assert gviz.why(loss).what == "loss is inf: addmm makes the first of them, forward"


def test_the_sum_of_what_a_normalization_makes_is_told_as_a_loss_that_is_the_same_for_any_input(torch: Any) -> None:
    loss, model = sum_of_normalized(torch)
    first, last = (gviz.why(loss, model)[name] for name in ("0.weight", "4.weight"))
    assert (first.verdict in ("zero", "vanishing"), last.verdict) == (True, "ok"), "PyTorch's is a rounding error"
    assert "compare it with targets, as mse_loss does: the sum of what" in first.mend
    norm = torch.nn.Sequential(torch.nn.Conv1d(1, 2, 1), torch.nn.BatchNorm1d(2))
    x = torch.randn(3, 1, 4)
    with pytest.raises(AssertionError, match=r"0\.weight is a rounding error: loss does not depend on it"):
        gviz.assert_gradients(norm(x).mean(), norm, allow_none="0.bias")
    assert not gviz.assert_gradients(norm.eval()(x).mean(), norm).wrong, "of a running mean"
    with torch.no_grad():
        model[4].weight[0] = 2.0
    assert not gviz.why(model(data_of(torch)).sum(), model).wrong, "the elements count differently"
    assert not gviz.why(model(torch.tensor([[1.0, 2.0, 0.0]])).pow(2).mean(), model).wrong


def test_a_test_that_comes_too_late_says_that_nothing_is_known(torch: Any) -> None:
    net = torch.nn.Linear(2, 1)
    loss = net(torch.ones(1, 2)).pow(2).sum()
    loss.backward()
    net.zero_grad()
    assert "whether a step() had used it by then is not known" in gviz.why(loss, net)["weight"].what
    with pytest.raises(AssertionError, match=r"^of 2 of 2 parameters it is not known whether they have a gradient"):
        gviz.assert_gradients(loss, net)


def test_targets_that_are_all_ignored_are_a_fault_where_nothing_else_trains(torch: Any) -> None:
    net = torch.nn.Linear(2, 3)
    scores = net(torch.ones(4, 2))
    loss = torch.nn.functional.cross_entropy(scores, torch.full((4,), -100), reduction="sum")
    assert [cause.is_wrong for cause in gviz.why(loss, net)] == [True, True]
    head = torch.nn.Linear(2, 1)
    both = loss + head(torch.ones(1, 2)).sum()
    assert not gviz.why(both, {"net": net, "head": head}).wrong


def test_a_pattern_of_allow_none_that_fits_no_parameter_is_told(torch: Any) -> None:
    net = torch.nn.Linear(2, 1)
    loss = net(torch.ones(1, 2)).sum()
    with pytest.warns(gviz.GvizWarning, match=r"no parameter is named as 'wieght' says"):
        gviz.assert_gradients(loss, net, allow_none=("wieght",))


def test_an_adapter_that_begins_at_0_is_let_pass_before_backward_has_run(torch: Any) -> None:
    net = torch.nn.Linear(2, 2).requires_grad_(False)
    net.a, net.b = (torch.nn.Parameter(make(2, 2)) for make in (torch.ones, torch.zeros))
    x = torch.ones(3, 2)
    loss = (net(x) + x @ net.a @ net.b).pow(2).sum()
    cause = gviz.assert_gradients(loss, net)["a"]
    assert cause.verdict == "zero"
    assert cause.mend.startswith("none, if b is to begin at 0: a gradient comes to it, and a step changes it;")


def test_what_a_module_computes_from_its_parameters_is_no_parameter_that_it_misses(torch: Any) -> None:
    """Pruning leaves such a weight; a dictionary of models has their parameters."""
    net = torch.nn.Linear(2, 1)
    net.masked = net.weight * torch.tensor([1.0, 0.0])
    loss = (net.masked.sum() - 2.0).pow(2)
    causes = gviz.assert_gradients(loss, {"net": net}, allow_none="*.bias")
    assert [cause.name for cause in causes] == ["net.weight", "net.bias"]
    assert [cause.name for cause in gviz.why(loss, net)] == ["weight", "bias"]


def test_a_normalization_of_zeros_is_not_said_to_cancel_out(torch: Any) -> None:
    norm, head = torch.nn.LayerNorm(3), torch.nn.Linear(3, 1)
    loss = head(norm(head(torch.ones(2, 3)) * torch.zeros(3))).exp().sum()
    cause = gviz.why(loss, norm)["weight"]
    assert cause.what == "the gradient of weight is 0: the derivative of layer_norm for weight is 0 here", cause
    assert cause.mend == "the other factor is 0, as other of MulBackward0 is: give it other numbers"
    hidden = head(norm((head(torch.ones(2, 3)) * torch.zeros(3)).exp() - 1)).exp().sum()
    assert "what comes to it cancels out there, or it is flat at its input" in gviz.why(hidden, norm)["weight"].what


def test_zeros_are_followed_through_views_and_normalizations_to_the_factor_that_makes_them(torch: Any) -> None:
    norm, body = torch.nn.LayerNorm(4), torch.nn.Linear(4, 2)
    start = torch.ones(4, requires_grad=True)
    loss = body(norm((start * 0).expand(3, 4)).view(1, 3, 4)).pow(2).sum()
    causes = gviz.why(loss, {"norm": norm, "body": body})
    mends = [causes[name].mend for name in ("norm.weight", "body.weight")]
    assert mends == ["the other factor is 0, since * makes it so: it multiplies by 0"] * 2, causes


def test_the_first_result_that_is_known_not_to_be_finite_is_named_where_its_input_was_not_kept(torch: Any) -> None:
    net, functional = torch.nn.Linear(2, 3), torch.nn.functional
    large = torch.exp(net(torch.ones(4, 2)) + 1000)
    head, targets = torch.nn.Linear(3, 2), torch.zeros(4).long()
    known = "is not finite, forward; its input was not kept, and may be so, too"
    causes = [
        gviz.why((large / large.sum(1, keepdim=True))[:, 0].mean(), net)["weight"],
        gviz.why(functional.cross_entropy(head(large), targets), net)["weight"],
        gviz.why(functional.cross_entropy(head(large), targets), head)["weight"],
        gviz.why(head(functional.gelu(torch.sqrt(net(torch.ones(4, 2)) - 100))).sum(), head)["weight"],
    ]
    named = [cause.what.partition(": ")[2] for cause in causes]
    assert named == [*[f"the result of exp {known}"] * 3, f"the result of sqrt {known}"]
    assert all("domain" not in cause.mend and "division" not in cause.mend for cause in causes)


def test_the_entropy_of_a_masked_softmax_is_not_mended_by_log_softmax(torch: Any) -> None:
    net, mask = torch.nn.Linear(2, 3), torch.tensor([False, False, True])
    p = torch.softmax(net(torch.ones(4, 2)).masked_fill(mask, float("-inf")), -1)
    cause = gviz.why(-(p * p.log()).sum(-1).mean(), net)["weight"]
    assert (cause.what.partition(": ")[2], "log_softmax" in cause.mend) == ("log makes the first -inf, forward", False)


def test_a_function_that_gives_no_gradient_has_its_own_mend(torch: Any) -> None:
    class Product(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, w: Any) -> Any:
            ctx.save_for_backward(w)
            return x * w

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0], None

    x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    cause = gviz.why(Product.apply(x, w).sum(), w)
    assert cause.what == "the backward of Product gives no gradient for w"
    assert cause.mend == "return a gradient for each input in its backward"


def test_the_other_factor_of_a_product_is_told_as_0_only_where_it_is_known(torch: Any) -> None:
    weight, rows = torch.ones(1, 2, requires_grad=True), torch.tensor([[1.0, 2.0], [-1.0, -2.0]])
    cause = gviz.why((rows @ weight.T).sum(), weight)
    assert "each sum in the product of what comes to it with the other factor is 0" in cause.what
    assert cause.mend.startswith("see whether the other factor is 0")


def test_what_one_question_takes_the_others_take(torch: Any) -> None:
    first, second = torch.nn.Linear(2, 3), torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(3, 1))
    loss, models = second(first(torch.ones(1, 2))).sum(), {"first": first, "second": second}
    names = ["first.weight", "first.bias", "second.1.weight", "second.1.bias"]
    assert [cause.name for cause in gviz.why(loss, models)] == names
    graph = gviz.graph(loss, model=models)
    assert {node.name for node in graph.nodes if node.kind == "leaf"} == {*names}
    paths = {node.module.path: node.module.kind for node in graph.nodes if node.module is not None}
    assert paths == {"first": "Linear", "second.1": "Linear"}
    assert gviz.summary(loss, models).parameters == 13
    assert "first.weight" in {row.name for row in gviz.inspect(loss, model=models).rows}


def test_what_is_no_model_is_refused_with_how_to_ask(torch: Any) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(2, 1))
    loss = net(torch.ones(1, 2)).sum()
    for ask in (gviz.why, gviz.summary, lambda loss, model: gviz.graph(loss, model=model)):
        with pytest.raises(gviz.GvizError, match=r"not of type str\ngviz\.why\(loss, net\)\['0\.weight'\]"):
            ask(loss, "0.weight")
    assert gviz.why(loss, net)["0.weight"].verdict == "ok"


def test_expressions_are_compared_at_values(torch: Any) -> None:
    diff = gviz.diff("y=w*x", "y=w*x+w", x=2, w=3, values=True)
    assert "value: 6 → 9" in str(diff)
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(gviz.GvizError, match="x not used: they are for expressions"):
        gviz.diff(x * 2, x * 3, x=2)


def test_what_was_computed_in_inference_mode_is_asked_about_as_what_no_grad_has_made(torch: Any) -> None:
    net = torch.nn.Linear(4, 2)
    with torch.inference_mode():
        loss = net(torch.ones(1, 4)).sum()
    assert {(cause.verdict, cause.what[:18]) for cause in gviz.why(loss, net)} == {("no path", "loss has no graph:")}
    with pytest.raises(AssertionError, match="no path"):
        gviz.assert_gradients(loss, net)
    assert gviz.summary(loss).operations == 0
    assert [row.name for row in gviz.inspect(loss).rows] == ["loss"]
    assert [node.name for node in gviz.graph(loss).nodes] == ["loss"]


def test_where_backward_fails_a_parameter_outside_the_graph_has_its_own_cause(torch: Any) -> None:
    net = torch.nn.ModuleDict({name: torch.nn.Linear(4, 4) for name in ("body", "head", "aux")})
    scores = net["head"](net["body"](torch.ones(1, 4)))
    causes = gviz.why(scores, net)
    assert (causes["body.weight"].verdict, causes["aux.weight"].verdict) == ("failed", "no path"), causes
    loss = scores.sum()
    with torch.no_grad():
        net["head"].weight.mul_(0.9)
    causes = gviz.why(loss, net)
    assert (causes["body.weight"].verdict, causes["aux.weight"].verdict) == ("written in place", "no path"), causes
    assert causes["aux.weight"].what.startswith("no path leads from loss to aux.weight")


def test_a_gradient_that_is_to_be_cleared_before_backward_is_not_said_to_be_added_to(torch: Any) -> None:
    net, data = net_of(torch), data_of(torch)
    net(data).pow(2).mean().backward()
    loss = net(data + 1).pow(2).mean()  # zero_grad() comes next, and then backward()
    cause = gviz.why(loss, net)["0.weight"]
    assert cause.verdict == "accumulated"
    assert not cause.is_wrong
    assert "this one is added" not in cause.what
    assert "to which backward() of loss adds its own if zero_grad() does not come in between" in cause.what
    assert cause.mend.startswith("call zero_grad()")
    assert cause.mend.endswith(", where it is missing, unless the sum is meant")


@pytest.mark.parametrize("is_hooked", [True, False])
def test_a_bias_before_a_batch_norm_to_whose_gradient_something_is_added_is_not_zero(
    torch: Any, *, is_hooked: bool
) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    data, bias = torch.randn(8, 3), net[0].bias
    loss = net(data).pow(2).mean()
    assert gviz.why(loss, net)["0.bias"].verdict == "zero"
    if is_hooked:
        bias.register_hook(lambda grad: grad + 0.1 * bias.detach())
    else:
        loss.backward()
        bias.grad.add_(bias.detach(), alpha=0.1)
    cause = gviz.why(loss, net)["0.bias"]
    assert cause.verdict in ("ok", "accumulated"), cause
    assert "rounding" not in cause.what
