"""Mathematics that has one reading is read as it is meant, with a note; what has two is refused with both."""

from __future__ import annotations

import random
import re
import time
from contextlib import suppress
from pathlib import Path

import pytest
from fuzzing import MORE
from mends import failures

from gviz.errors import GvizError, SourceError
from gviz.sources import SourceOptions, read
from gviz.sources.expression import evaluate


def notes(text: str, **values: object) -> list[str]:
    run = evaluate(text, SourceOptions(values=values))
    return [note.text.removeprefix("read as ") for note in run.notes if note.text.startswith("read as ")]


def number(text: str, **values: object) -> object:
    return next(iter(evaluate(text, SourceOptions(values=values)).roots.values())).tolist()


def refusal(text: str, **values: object) -> str:
    with pytest.raises(SourceError) as error:
        evaluate(text, SourceOptions(values=values))
    assert error.value.place is not None
    return str(error.value)


@pytest.mark.parametrize(
    ("text", "values", "written"),
    [
        ("2x", {}, "2*x"),
        ("x.^2 .* w./3", {}, "x**2 * w/3"),
        ("y=2x+3w", {}, "y=2*x+3*w"),
        ("y = 3x**2 + 2x + 1", {}, "y = 3*x**2 + 2*x + 1"),
        ("x w", {}, "x*w"),
        ("2 x", {}, "2*x"),
        ("2(x+1)", {}, "2*(x+1)"),
        ("p=1/(1+e⁻ᶻ)", {}, "p=1/(1+exp(-z))"),
        ("A=P e**(r*t)", {}, "A=P*exp(r*t)"),
        ("y=exp.(-x) .+ 1", {}, "y=exp(-x) + 1"),
        ("L=λe^{-λx}", {"λ": 1, "x": 2}, "L=λ*exp(-λ*x)"),
        ("y=x^{2n}", {}, "y=x**(2*n)"),
        ("z=mean(|x-w|)", {"x": [1, 2], "w": [3, 5]}, "z=mean(abs(x-w))"),
        ("(x+1)(w+1)", {}, "(x+1)*(w+1)"),
        ("y=(x+1)2", {}, "y=(x+1)*2"),
        ("2j*x", {}, "2*j*x"),
        ("sin x", {}, "sin(x)"),
        ("y = 3*sin x + 1", {}, "y = 3*sin(x) + 1"),
        ("2sin x", {}, "2*sin(x)"),
        ("sin 2x", {}, "sin(2*x)"),
        ("sin 2 + x", {}, "sin(2) + x"),
        ("y=(1/x)c + 1/((x+1))", {}, "y=(1/x)*c + 1/((x+1))"),
        ("ln(x)", {}, "log(x)"),
        ("ln x", {}, "log(x)"),
        ("σ(x)", {}, "sigmoid(x)"),
        ("x^2", {}, "x**2"),
        ("sin⁻¹(x)", {"x": 0.5}, "asin(x)"),
        ("2tan^-1 x + 1", {"x": 0.5}, "2*atan(x) + 1"),
        ("误差=(预测-目标)²/2", {"预测": 3}, "误差=(预测-目标)**2/2"),
        ("y=x^TAx", {"x": "[1,2]", "A": "[[1,2],[3,4]]"}, "y=x @ A @ x"),
        ("y=x⊤Ax", {"x": "[1,2]", "A": "[[1,2],[3,4]]"}, "y=x @ A @ x"),
        ("y=(x+1)^2*w^3", {}, "y=(x+1)**2*w**3"),
        ("e^x", {}, "exp(x)"),
        ("|x|", {}, "abs(x)"),
        ("||x||", {}, "norm(x)"),
        ("2*|x-1|+1", {}, "2*abs(x-1)+1"),
        ("（x＋w）＊２", {}, "(x+w)*2"),
        ("x=x₀cos(t)", {}, "x=x_0*cos(t)"),
        ("y=xσ(βx)", {}, "y=x*sigmoid(β*x)"),
        ("H=-p log p - (1-p) log(1-p)", {"p": 0.3}, "H=-p*log(p) - (1-p)*log(1-p)"),
        ("y=A sin(ωt+φ)", {}, "y=A*sin(ω*t+φ)"),
        ("y=W₂relu(Wx)", {"W₂": "[[1,2]]", "W": "[[1,2],[3,4]]", "x": "[1,2]"}, "y=W2 @ relu(W @ x)"),
        ("y=2*W relu(x)", {"W": "[[1,2],[3,4]]", "x": "[1,2]"}, "y=2*W @ relu(x)"),
        ("y＝x", {}, "y=x"),
        ("x×w", {}, "x*w"),
        ("x·w", {}, "x*w"),
        ("x⋅w", {}, "x*w"),
        ("x÷w", {}, "x/w"),
        ("x−w", {}, "x-w"),
        ("x²+1", {}, "x**2+1"),
        ("x⁻¹", {}, "x**-1"),
        ("xⁿ", {}, "x**n"),
        ("y=x²ⁿ", {}, "y=x**(2*n)"),
        ("A=P(1+r)ⁿᵗ", {"P": 2, "r": 0.1, "n": 2, "t": 3}, "A=P*(1+r)**(n*t)"),
        ("y=2ˣ⁻¹e⁻ˣᵗ", {"x": 2, "t": 3}, "y=2**(x-1)*exp((-x*t))"),
        ("I=I₀e^(−μx)", {"I₀": 2, "μ": 1, "x": 1}, "I=I0*exp(-μ*x)"),
        ("y=πre^-x", {"r": 2, "x": 1}, "y=π*r*exp(-x)"),
        ("Exp[-x^2]/Sqrt[2 Pi]", {"x": 2}, "exp(-x**2)/sqrt(2*Pi)"),
        ("y=tanh[0.5x]", {"x": 2}, "y=tanh(0.5*x)"),
        ("y=σ.(W*x .+ b)", {"W": [[1, 2], [3, 4]], "x": [1, -1]}, "y=sigmoid(W @ x + b)"),
        ("y=inv(A)*b", {"A": [[2, 1], [1, 3]], "b": [1, 2]}, "y=inverse(A) @ b"),
        ("x²³", {}, "x**23"),
        ("√x", {}, "sqrt(x)"),
        ("2√(x+1)", {}, "2*sqrt(x+1)"),
        ("½x", {}, "(1/2)*x"),
        ("A⊙B", {}, "A*B"),
        ("x₁+x₂", {}, "x_1+x_2"),
        ("y=‖x‖", {}, "y=norm(x)"),
        ("f(x)=2*x", {}, "f=2*x"),
        ("y=wx+b", {"w": 2, "x": 3}, "y=w*x+b"),
        ("y=Wx+b", {"W": "[[1,2]]", "x": "[3,4]"}, "y=W @ x+b"),
        ("y=Wx+b", {"W": 2, "x": 3}, "y=W*x+b"),
        ("y=w1x1+w2x2+b", {"w1": 1, "x1": 2, "w2": 3, "x2": 4}, "y=w1*x1+w2*x2+b"),
        ("y=2πr", {"r": 2}, "y=2*π*r"),
        ("y=πr*2", {}, "y=π*r*2"),
        ("a=x*2; y=ax", {"x": 2}, "a=x*2; y=a*x"),
        ("y=e^(-x)", {"x": 1}, "y=exp(-x)"),
        ("y=πr²", {"r": 2}, "y=π*r**2"),
        ("y=W⁻¹x", {"x": "3", "W": "2"}, "y=W**-1*x"),
        ("y=2 W x", {"x": "[1,2]", "W": "[[1,2],[3,4]]"}, "y=2*W @ x"),
        ("y=wx+b", {}, "y=w*x+b"),
        ("y=Wx+b", {}, "y=W*x+b"),
        ("y = wx + b", {}, "y = w*x + b"),
        ("h = 2x\n\ny = h²  # twice", {}, "h = 2*x; y = h**2"),
        ("E=mc²", {}, "E=m*c**2"),
        ("y=kx", {"x": 2}, "y=k*x"),
        ("z=xy", {"x": 2, "y": 3}, "z=x*y"),
        ("y=2|x-1|", {}, "y=2*abs(x-1)"),
        ("y=|x|+|w|", {}, "y=abs(x)+abs(w)"),
        ("y=‖x‖²", {"x": [3, 4]}, "y=norm(x)**2"),
        ("y=2½x", {}, "y=(2+1/2)*x"),
        ("y=x₁w₁", {}, "y=x_1*w_1"),
        ("y=x₁w₁", {"x1": 2, "w1": 3}, "y=x1*w1"),
        ("f(x)=x²+1; y=f(x)+2", {}, "f=x**2+1; y=f+2"),
        ("y=x(w+1)", {"x": 2}, "y=x*(w+1)"),
        ("y=x(x+1)", {}, "y=x*(x+1)"),
        ("y=2sin(x)cos(x)", {}, "y=2*sin(x)*cos(x)"),
        ("y=(x+1)^-2", {}, "y=(x+1)**-2"),
        ("y=x² y", {}, "y=x**2*y"),
        ("y=αx+β", {}, "y=α*x+β"),
        ("h=relu(Wx+b); y=Vh", {"W": [[1, 2], [3, 4]], "x": [1, 2], "V": [[1, 2]]}, "h=relu(W @ x+b); y=V @ h"),
        ("y=W·x", {"W": [[1, 2], [3, 4]], "x": [1, 2]}, "y=W @ x"),
        ("y=xᵀW", {"x": "[1,2]", "W": "[[1,2],[3,4]]"}, "y=x @ W"),
        ("y=xᵀW", {"x": "[[1],[2]]", "W": "[[1,2],[3,4]]"}, "y=x.T @ W"),
        ("y=wᵀx", {"w": "2", "x": "3"}, "y=w*x"),
        ("y=w^Tx+1", {"w": [1, 2], "x": [3, 4]}, "y=w @ x+1"),
        ("y=w^T x", {"w": [1, 2], "x": [3, 4]}, "y=w @ x"),
        ("y=x^T", {"x": 2, "T": 3}, "y=x**T"),
        ("y=Wᵀx", {"x": "[1,2]", "W": "ones(2, 3)"}, "y=W.T @ x"),
        ("y=xᵀ W x", {"x": "[1,2]", "W": "[[1,2],[3,4]]"}, "y=x @ W @ x"),
        ("y=xᵀΣx", {"x": "[1,2]", "Σ": "[[1,2],[3,4]]"}, "y=x @ Σ @ x"),
        ("J=1/(2m)*Σ((x-y)²)", {"x": "[1,2]", "y": "[0,4]"}, "J=1/(2*m)*sum((x-y)**2)"),
        ("L=Σ|x-y|", {"x": "[1,2]", "y": "[0,4]"}, "L=sum(abs(x-y))"),
        ("y=2⟨x,w⟩", {"x": [1, 2], "w": [3, 4]}, "y=2*(x @ w)"),
        ("y=<x,w>", {"x": [1, 2], "w": [3, 4]}, "y=(x @ w)"),
        ("|(|x|)*b|", {"x": -2, "b": -3}, "abs((abs(x))*b)"),
        ("||x|-b|", {}, "abs(abs(x)-b)"),
        ("|x-|w||", {}, "abs(x-abs(w))"),
        ("|x||w|", {}, "abs(x)*abs(w)"),
        ("y=|x|w+|z|", {}, "y=abs(x)*w+abs(z)"),
        ("x|w|", {}, "x*abs(w)"),
        ("y=2.0f*x + 1.5f", {}, "y=2.0*x + 1.5"),
        ("xsin(x)", {}, "x*sin(x)"),
        ("y=2xe^x", {}, "y=2*x*exp(x)"),
        ("x∘w", {}, "x*w"),
        ("y=log₂(x)", {}, "y=log2(x)"),
        ("y=log_10(x)", {}, "y=log10(x)"),
        ("mse(y,t)", {"y": 2}, "mse_loss(y,t)"),
        ("y=sin²(x)", {}, "y=sin(x)**2"),
        ("y=sin^2 x + cos^2 x", {"x": 1}, "y=sin(x)**2 + cos(x)**2"),
        ("y=2tanh²(wx+b)/3", {}, "y=2*tanh(w*x+b)**2/3"),
        ("y=sin²(sin²(√x))", {}, "y=sin(sin(sqrt(x))**2)**2"),
        ("y=1/cot²x", {"x": 2}, "y=1/(1/tan(x))**2"),
        ("y=2/sec(x)", {}, "y=2/(1/cos(x))"),
        ("y=ReLU(x)", {"x": -1}, "y=relu(x)"),
        ("y=LeakyReLU(x)", {"x": -1}, "y=leaky_relu(x)"),
        ("y=Sin x", {}, "y=sin(x)"),
        ("y=sigma(w*x)", {"w": 2}, "y=sigmoid(w*x)"),
        ("y=logₑ(x)+lb(x)", {"x": 2}, "y=log(x)+log2(x)"),
        ("y=sh(x)ch(x)/th(x)", {}, "y=sinh(x)*cosh(x)/tanh(x)"),
        ("y=5!*x", {}, "y=120*x"),
        ("L=∑ y", {"y": [1, 2]}, "L=sum(y)"),
        ("L=½∏(y)", {"y": [1, 2]}, "L=(1/2)*prod(y)"),
        ("y=xTw", {"x": [1, 2], "w": [3, 4]}, "y=x @ w"),
        ("y=2xTAx+1", {"x": [1, 2], "A": [[1, 2], [3, 4]]}, "y=2*x @ A @ x+1"),
        ("y=XTX", {"X": [[1, 2], [3, 4]]}, "y=X.T @ X"),
        ("“y=x*w”", {}, "y=x*w"),
        ("„y = 2x“", {}, "y = 2*x"),
        ("'y=x*w'", {}, "y=x*w"),
        ("y=2e^-x^2 + 1", {"x": 2}, "y=2*exp(-x**2) + 1"),
        ("y=e^-x²", {"x": 2}, "y=exp(-x**2)"),
        ("y=e^sin(x)", {"x": 2}, "y=exp(sin(x))"),
        ("y=ln|x|", {"x": -2}, "y=log(abs(x))"),
        ("y=e^(x)w", {"x": 2, "w": 3}, "y=exp(x)*w"),
        ("y=√x₁", {"x_1": 2}, "y=sqrt(x_1)"),
        ("Q=m·ΔT²", {"m": 2, "ΔT": 3}, "Q=m*ΔT**2"),
        ("y=tanh wx", {"w": 2}, "y=tanh(w*x)"),
        ("y=ln||x||", {"x": [3, 4]}, "y=log(norm(x))"),
        ("y=√|x|", {"x": -4}, "y=sqrt(abs(x))"),
        ("y=√sin(x)", {"x": 1}, "y=sqrt(sin(x))"),
        ("E=½mv²", {"m": 2, "v": 3}, "E=(1/2)*m*v**2"),
        ("x̄=mean(x); s=sum((x-x̄)²)", {"x": [1, 2, 4]}, "x̄=mean(x); s=sum((x-x̄)**2)"),
        ("x̄=mean(x); s=sum((x-x̄)^2)", {"x": [1, 2, 4]}, "x̄=mean(x); s=sum((x-x̄)**2)"),
        ("x⃗=2w; y=‖x⃗‖", {"w": [3, 4]}, "x⃗=2*w; y=norm(x⃗)"),
        ("y=(Wx-t)²", {"W": [[1, 2], [3, 4]], "x": [1, 2], "t": [1, 1]}, "y=(W @ x-t)**2"),
    ],
)
def test_what_has_one_reading_is_read_and_a_note_says_how(text: str, values: dict[str, object], written: str) -> None:
    assert notes(text, **values) == [written]
    assert number(text, **values) == number(written, **values)


@pytest.mark.parametrize(
    ("text", "values", "phrases"),
    [
        ("y=1/2x", {}, ["y=1/2x\n       ^\n", "write 1/(2*x) or (1/2)*x"]),
        ("y=1/2(x+1)", {}, ["write 1/(2*(x+1)) or (1/2)*(x+1)"]),
        ("1/2(y-t)²+1", {}, ["write 1/(2*(y-t)²) or (1/2)*(y-t)²"]),
        ("y=1/(x+(w))c", {}, ["/ before a product without a sign has two readings"]),
        ("y=x^2y", {}, ["write x^(2*y) or (x^2)*y"]),
        ("y=e^2x", {}, ["write exp(2*x) or exp(2)*x"]),
        ("y=wx", {"w": [1, 2], "x": [3, 4]}, ["y=wx\n    ^^\n", "write w*x for each element or w @ x"]),
        ("y=x·w", {"w": [1, 2], "x": [3, 4]}, ["write x*w for each element or x @ w"]),
        ("y=A^2", {"A": [[1, 2], [3, 4]]}, ["write A**2 for each element or matrix_power(A, 2)"]),
        ("y=A*Bx", {"A": [[1]], "B": [[1]], "x": [1]}, ["write A*(B @ x) or (A*B) @ x"]),
        ("y=ab+c", {}, ["ab is one name, and it has no value", "write a*b; or give it a value", "ab=1"]),
        ("y=wx.sum()", {}, ["write w*x; or give it a value"]),
        ("y=cost", {"t": 2}, ["write y=cos(t); or give it a value, if it is a name: cost=1"]),
        ("f(x)=x²; y=f(2)", {}, ["f(x) = ... names one value, and has no other arguments"]),
        ("y=|x|w|z|", {}, ["these bars have two readings", "write y=abs(x)*w*abs(z) or y=abs(x*abs(w)*z)"]),
        ("y=w^Tx", {}, ["write y=w @ x and give w=[1,2] x=[3,4]"]),
        ("y=W^Tx + b", {}, ["write y=W.T @ x + b and give W=[[1,2],[3,4]] x=[1,2]"]),
        ("y=<x,w>", {}, ["write y=(x @ w) and give x=[1,2] w=[3,4]"]),
        ("y'=2x", {}, ["a prime cannot be in a name", "gviz explain", "for a new name, write y1"]),
        ("A'", {}, ["write .T for a transposed matrix"]),
        ("∇y", {}, ["gviz inspect"]),
        ("sum_i w_i x_i", {}, ["write sum(w*x)"]),
        ("[1 2]*x", {}, ["a list has commas"]),
        ("x_{i+1}", {}, ["write x_1; for a part of a tensor, x[1]"]),
        ("||x||_1", {}, ["write norm(x, 1)"]),
        ("softmax(x)_i", {}, ["there is no operator between ) and _i"]),
        ("if x>0: y=x", {}, ["where("]),
        ("y=x if x>0 else -x", {}, ["write y=where(x>0, x, -x)"]),
        ("x>0 ? x : 0", {}, ["write where(x>0, x, 0)"]),
        ("[x>0]", {}, ["(x > 0)*x"]),
        ("max(x,0)", {}, ["relu(x) or clamp(x, min=0)"]),
        ("min(x,1)", {}, ["clamp(x, max=1)"]),
        ("d/dx x^2", {}, ['write gviz explain "y=x**2" --wrt x']),
        ("1/2(y-t)²", {}, ["write 1/(2*(y-t)²) or (1/2)*(y-t)²"]),
        ("y=logx", {}, ["write y=log(x); or give it a value, if it is a name: logx=1"]),
        ("wtanh(x)", {}, ["to multiply, write w*tanh(...)"]),
        ("n choose k", {}, ["there are no binomial coefficients"]),
        ("∛x", {}, ["write x**(1/3)"]),
        ("let y = x^2", {}, ["leave out let"]),
        ("y=x^2 where x=3", {}, ['write it behind: gviz render "y=x**2" x=3']),
        ("derivative of x^2", {}, ['gviz explain "y=x**2" --wrt x']),
        ("y=∑ᵢ wᵢxᵢ", {}, ["write y=sum(w*x)"]),
        ("y=x if x>0 else 0.01x", {}, ["write y=where(x>0, x, 0.01*x)"]),
        ("y=Relu(2)", {}, ["did you mean relu?"]),
        ("y=2lg(x)", {}, ["lg has two readings", "write y=2*log10(x) or y=2*log2(x)"]),
        ("y=lg x", {}, ["write y=log10(x) or y=log2(x)"]),
        ("y=x!+1", {}, ["write y=exp(lgamma(x + 1))+1"]),
        ("y=xTw", {}, ["write y=x @ w and give x=[1,2] w=[3,4]; or give it a value", "xTw=1"]),
        ("y=xTAx", {}, ["write y=x @ A @ x and give x=[1,2] A=[[1,2],[3,4]]"]),
        ("y=√xw", {"x": 2, "w": 3}, ["√ before a product", "write sqrt(x*w) or sqrt(x)*w"]),
        ("y=√2x", {}, ["write sqrt(2*x) or sqrt(2)*x"]),
        ("y=exp -x", {}, ["exp -x has two readings", "write exp(-x)"]),
        ("y=xsin²(x)", {}, ["²"]),
        ("y=x² where x=3", {}, ['write it behind: gviz render "y=x**2" x=3']),
        ("y=wx+b, w=2, x=3", {}, ['write it behind: gviz render "y=w*x+b" w=2 x=3']),
        ("L=(y-t)^2, y=w*x+b, t=1", {}, ['gviz render "y=w*x+b; L=(y-t)**2" t=1']),
        ("L = -(y*ln(p) + (1-y)*ln(1-p)), p = σ(w*x+b)", {}, ["write p = sigmoid(w*x+b); L = -(y*log(p)"]),
        ("x₁=2; y=x₁*3", {}, ['write it behind: gviz render "y=x_1*3" x_1=2']),
        ("y=x*w; x=2", {}, ['write it behind: gviz render "y=x*w" x=2']),
        ("y=x²; dy/dx", {}, ['write gviz explain "y=x**2" --wrt x']),
        ("2x+1=y", {}, ["write y = 2*x+1"]),
        ("dy/dx = 2x", {}, ["write the formula itself, as in y = x**2: gviz derives it"]),
        ("y=x dot w", {"x": [1, 2], "w": [3, 4]}, ["write y=x @ w"]),
        ("y=x cross w", {}, ["write cross(x, w) and give x=[1,2,3] w=[4,5,6]"]),
        ("y=x squared plus 1", {}, ["write y=x**2 + 1"]),
        ("y=2⌊x⌋", {}, ["write y=2*floor(x)"]),
        ("y=x→w", {}, ["write = to name a value"]),
        ("y=log(x,2)", {}, ["for another base, write log(x)/log(2)"]),
        ("=-A1^2", {"A1": 3}, ["there is nothing before ="]),
        ("y=E^-x", {}, ["E before a power may be e", "write e^-x; or give it a value, if it is a name: E=1"]),
        ("y=cos x/2", {}, ["cos before / has two readings", "write cos(x/2) or cos(x)/2"]),
        ("L=aᵢbᵢ", {}, ["aᵢbᵢ is one name", "write aᵢ*bᵢ"]),
        ("x %o% w", {"x": [1, 2], "w": [3, 4]}, ["write outer(x, w)"]),
        ("t(X) %*% X", {"X": [[1, 2], [3, 4]]}, ["write t(X) @ X"]),
        ("y=dnorm(x)", {}, ["write exp(-x**2/2)/sqrt(2*pi)"]),
        ("y=Math.exp(x)", {}, ["there is no Math", "write exp(...)"]),
        ("y=np.std(x)", {"x": [1, 2]}, ["write std(x, unbiased=False)"]),
        ("y=x(end)", {"x": [1, 2]}, ["write x[-1] for a part"]),
        ("y=A(1,2)*x", {"A": [[1, 2], [3, 4]]}, ["write A[0, 1] for a part"]),
        ("=SUM(A1:A3)", {}, ["a range has no : here"]),
        (r"\frac{d}{dx}\left(x^2\right)", {}, ['gviz explain "y=x**2" --wrt x']),
        ("y=LeakyReLU(0.1)(x)", {}, ["here, write leaky_relu(x, 0.1)"]),
        ("y=nn.Linear(2,3)(x)", {}, ["y = x @ W.T + b"]),
        ("y=w*“x”", {}, ["“", "write straight quotes"]),
        ("y=dot(x,w)", {}, ["x=[1,2] w=[3,4]"]),
        ("y=sin x * w", {}, ["sin needs brackets"]),
        ("y=√xw", {}, ["√"]),
        ("y=x²[0]", {"x": [1, 2]}, ["write y=(x**2)[0]"]),
        ("y=x².sum()", {"x": [1, 2]}, ["write y=(x**2).sum()"]),
        ("y=(x)(w).sum()", {"x": [1, 2]}, ["write y=(x)*(w).sum()"]),
        ("print x", {}, ["print"]),
        ("dy/dx", {}, ["a derivative is not part of an expression", 'gviz explain "y=x**2" --wrt x']),
        ("d(x**2)/dx", {}, ['gviz explain "y=x**2" --wrt x']),
        ("d/dx (x**2)", {}, ['gviz explain "y=x**2" --wrt x']),
        ("∂y/∂x", {}, ['gviz explain "y=x**2" --wrt x']),
        ("d²y/dx²", {}, ['gviz render "y=x**2" --order 2 --wrt x']),
        ("w - lr*dL/dw", {}, ['gviz explain "L=w**2" --wrt w']),
        ("y=⟨x,w⟩", {}, ["write y=(x @ w)"]),
        ("y=x – w", {}, ["write y=x - w"]),
        ("This is a text about the net.", {}, ["this is prose", "y = w*x + b"]),
        ("y=w @ 0.5", {}, ["write * to multiply by a number"]),
        ("y=0.5 @ w", {}, ["write * to multiply by a number"]),
        ("y=relu(max(x,dim=0))", {"x": [1, 2]}, ["max(x, dim=0).values, or amax(x, dim=0)"]),
        ("y=2*max(x,dim=0)", {"x": [1, 2]}, ["max(x, dim=0).values, or amax(x, dim=0)"]),
        ("y=x[-1]", {}, ["a number has no parts"]),
        ("y=2|x|+1", {}, ["write abs(x) for |x|"]),
    ],
)
def test_what_is_uncertain_or_no_expression_is_refused_with_what_to_write(
    text: str, values: dict[str, object], phrases: list[str]
) -> None:
    said = refusal(text, **values)
    assert [phrase for phrase in phrases if phrase not in said] == []


@pytest.mark.parametrize(
    ("text", "term", "readings"),
    [
        ("y=x^2/2w", "x^2/2w", ["x**2/(2*w)", "(x**2/2)*w"]),
        ("y=3x/4w", "3x/4w", ["3*x/(4*w)", "(3*x/4)*w"]),
        ("y=z-(a+x)/2w", "(a+x)/2w", ["(a+x)/(2*w)", "((a+x)/2)*w"]),
        ("y=exp(-(x-z)²/2w²)", "(x-z)²/2w²", ["(x-z)**2/(2*w**2)", "((x-z)**2/2)*w**2"]),
        ("y=|x|/2w", "|x|/2w", ["abs(x)/(2*w)", "(abs(x)/2)*w"]),
        ("y=x^-2/3w", "x^-2/3w", ["x**-2/(3*w)", "(x**-2/3)*w"]),
        ("y=z*-2/3w", "2/3w", ["2/(3*w)", "(2/3)*w"]),
        ("y=1/2 x w^2", "1/2 x w^2", ["1/(2*x*w**2)", "(1/2)*x*w**2"]),
        ("y=1/√(2π)w", "1/√(2π)w", ["1/(sqrt(2*pi)*w)", "(1/sqrt(2*pi))*w"]),
        (
            "y=1/(w√(2π)) e^(-x²/2)",
            "1/(w√(2π)) e^(-x²/2)",
            ["1/(w*sqrt(2*pi)*exp(-x**2/2))", "1/(w*sqrt(2*pi))*exp(-x**2/2)"],
        ),
        ("y=10^-3x", "10^-3x", ["10**(-3*x)", "10**-3*x"]),
        ("y=√x₁x", "√x₁x", ["sqrt(x_1*x)", "sqrt(x_1)*x"]),
        ("y=3x10^-w", "3x10", ["3*10", "3*x10"]),
        ("y=1/x^2w", "1/x^2w", ["1/x**(2*w)", "1/(x**2*w)", "(1/x**2)*w"]),
        ("y=sin(x)^2w", "sin(x)^2w", ["sin(x)**(2*w)", "sin(x)**2*w"]),
        ("y=e^-2x", "e^-2x", ["exp(-2*x)", "exp(-2)*x"]),
        ("y=√2x²", "√2x²", ["sqrt(2*x**2)", "sqrt(2)*x**2"]),
        ("y=√x w", "√x w", ["sqrt(x*w)", "sqrt(x)*w"]),
        ("y=√x³", "√x³", ["sqrt(x**3)", "sqrt(x)**3"]),
        ("y=ln x²", "ln x²", ["log(x**2)", "log(x)**2"]),
        ("y=sin x^2", "sin x^2", ["sin(x**2)", "sin(x)**2"]),
    ],
)
def test_both_readings_of_a_term_can_stand_in_its_place(text: str, term: str, readings: list[str]) -> None:
    values = {"x": 1.5, "w": 0.7, "z": 0.3, "a": 2.0, "x_1": 3.0}
    said = refusal(text, **values)
    ways = said.rpartition("\nwrite ")[2].split(" or ")
    assert [number(text.replace(term, way), **values) for way in ways] == pytest.approx(
        [number(text.replace(term, reading), **values) for reading in readings]
    )


@pytest.mark.parametrize(
    ("text", "values", "what", "hint"),
    [
        ("y=x^2+foo(x)", {}, "there is no function foo", "functions are called as in PyTorch"),
        ("y=x²+foo(x)", {}, "there is no function foo", "functions are called as in PyTorch"),
        ("y=x²+len(x)", {}, "len is not allowed in an expression", "write x.shape[0]"),
        ("y=x²; print(y)", {}, "nothing has to be printed", "leave print out"),
        ("y=x^2+x.foo", {}, "there is no attribute foo in an expression", ".shape"),
        ("y=x²+x[0", {}, "'[' was never closed", "write y=x**2+x[0]"),
        ("y=exp^x", {}, "exp needs brackets around its argument", "write y=exp(x)"),
        ("y=√√x", {}, "√ needs brackets around its argument", "write y=sqrt(sqrt(x))"),
        ("y=∑(x-1)²", {}, "∑ needs brackets around its terms", "write y=sum((x-1)**2)"),
        ("y=∏_i x_i", {}, "a product has no index in an expression", "write y=prod(x)"),
        ("y=‖x‖₁", {}, "it is not certain how ₁ is meant here", "write y=norm(x, 1)"),
        ("y=A⁻¹b", {"A": [[1, 2], [3, 4]], "b": [1, 2]}, "how ⁻¹ is meant here", "write y=inverse(A) @ b"),
        ("y=log₂x", {}, "log_2x is one name", "write y=log2(x)"),
        ("ρ=c/(σ_xσ_y)", {}, "σ_xσ_y is one name", "write σ_x*σ_y"),
        ("Q=mcΔT", {}, "mcΔT is one name", "write m*c*ΔT"),
        ("y=log_3 x", {}, "there is no function log_3", "write log(x)/log(3)"),
        ("y=1 000x", {}, "there is no operator between 1 and 000", "write 1000 for a number"),
        ("y=1 1/2 x", {}, "there is no operator between 1 and 1", "a list has commas"),
        ("y=20%x", {"x": 3}, "remainder is not implemented", "write 0.2*x"),
        ("y=w_ix_i", {}, "w_ix_i is one name", "write w_i*x_i"),
        ("s=½gt²", {}, "gt is one name", "write g*t"),
        ("y=sin(30°)x", {}, "° (degree sign) is not part of an expression", "write y=sin(30*π/180)*x"),
        ("y=cross_entropy(z, t)", {"z": [1, 2, 3], "t": 3}, "Target 3 is out of bounds", "classes are counted from 0"),
        ("y=~x", {}, "~ (operator.invert)", "write -x for the negative"),
        ("A=2πr(r+h)", {}, "there is no function πr", "write A=2*π*r*(r+h)"),
        (
            "w=(X^T X)^{-1} X^T t",
            {"X": [[1, 2], [3, 4]], "t": [1, 2]},
            "a power of matrices has two readings",
            "inverse(X.T @ X)",
        ),
        ("y <- exp(-x); z = y*2", {}, "<- compares", "write y = exp(-x); z = y*2"),
        ("y=log Σ exp(x)", {"x": [1, 2]}, "a sum is written sum(...)", "write y=log(sum(exp(x)))"),
        ("y=x(1)^2+x(2)^2", {"x": [3, 4]}, "x(1) has two readings", "x[0] for a part"),
        (
            "F=q(E+v×B)",
            {"q": 2, "E": [1, 0, 0], "v": [1, 2, 3], "B": [0, 1, 4]},
            "several readings",
            "cross(v, B, dim=0)",
        ),
        ("y=ln|A|", {"A": [[2, 1], [1, 3]]}, "bars around a matrix", "norm(A) or det(A)"),
        ("y=|v|²", {"v": [3, 4]}, "bars around a vector", "abs(v) for each element or norm(v)"),
        ("v=sqrt 2gh", {"g": 9.81, "h": 2}, "√ before a product", "sqrt(2*gh)"),
        ("σ²=mean(x)", {"x": [3, 4]}, "a power cannot be a name", "write σ2 = ..."),
        ("x=A\\b", {"A": [[2, 1], [1, 3]], "b": [1, 2]}, "no \\ between two values", "inverse(A) @ w"),
        ("y=\\alpha y_{t-1}+c", {}, "an index is a number or a name", "write x_1"),
        ("X %*% w", {}, "%*% has no meaning", "write X @ w"),
    ],
)
def test_the_reason_is_what_cannot_be_read_and_no_sign_that_is_read_elsewhere(
    text: str, values: dict[str, object], what: str, hint: str
) -> None:
    first, *_, last = refusal(text, **values).split("\n")
    assert what in first
    assert hint in last


MISTYPED = """
    w^Tx|w^T x + b|y=x^T A x|A^T A|<x,w>|⟨x,w⟩|2<x,w>+1|¦a¦b¦c¦|¦¦w¦¦_1|¦¦w¦¦_F|sin¦x¦|sum_i x_i|sum_i w_i x_i + b|Σx|Σ_i x_i²
    [1 2]*x|max{0,x}|max(0,x)|if x>0|if x>0: y=x|y=x if x>0 else 0|1/2(y-t)^2|1/2x|e^x/Σe^x|exp{-x}|x mod 2|y==2*x|y:=x|y←x
    x!|(2n)!|lg x|lg(x)+1|√xw|√2x|xTw|xTAx|XTX|exp -x|sec x²|xsin²(x)|5!!|25!x|x dot w|x cross w|2x+1=y|x→w|⌈x⌉/2|x squared
    “x”w|nn.GELU()(x)|y=log(x,2)|y=∑(x)*w|y=∑x_i|√√x|sin²|sin⁻¹x|sin^-1(x)|cot|cot^2|Linear(2,3)|Softmax(dim=0)|y=x times
    sin²x|sin^2 x|sin x cos x|logx|y=sinx+1|wtanh(x)|f(2)|x(0)|e^2x|x^2y|relu(x|y = x*(2+w|∛x|x½|A^{-1} b c|cos xw|wxb|2w x^-1 (
"""


@pytest.mark.parametrize(
    "text", [text.strip().replace("¦", "|") for text in re.split(r"[|\n]", MISTYPED) if text.strip()]
)
def test_what_is_proposed_can_be_computed(text: str) -> None:
    assert failures(text, {}, even_of_values=True) == []


PARTS = (
    *(
        "x",
        "w",
        "W",
        "2",
        "|",
        "|",
        "||",
        "(",
        ")",
        "(",
        ")",
        "*",
        "+",
        " ",
        "^",
        "²",
        "ᵀ",
        "^T",
        "e^",
        "sin",
        "sin ",
        "Σ",
    ),
    *(
        "Σ_i",
        "x_i",
        "y=",
        "{",
        "}",
        "√",
        "_1",
        "'",
        "<",
        ",",
        ">",
        "-",
        "/",
        "½",
        "·",
        "relu(",
        "log",
        "x^2",
        "if ",
        "[",
        "]",
    ),
    *(".T", "dx", "π", "f(x)=", "T", "i", "∂", "!", "==", "‖", ";", "%"),
)


@pytest.mark.fuzz
def test_what_is_proposed_for_any_text_can_be_read() -> None:
    chance = random.Random(24)  # noqa: S311 - no secret
    for _ in range(1500 * MORE):
        text = "".join(chance.choice(PARTS) for _ in range(chance.randint(2, 9)))
        values: dict[str, object] = chance.choice([{}, {"x": "2", "w": "3"}, {"x": "[1,2]", "w": "[3,4]"}])
        with suppress(GvizError):  # another refusal than that of a source
            assert failures(text, values, even_of_values=False) == []


@pytest.mark.parametrize("name", ["lr", "loss", "bias", "theta", "mu", "dx", "xs", "out", "weight", "x1", "x_i", "σ_1"])
def test_a_usual_word_is_a_name(name: str) -> None:
    run = evaluate(f"y={name}*2")
    assert name in run.names
    assert [note.text for note in run.notes] == [f"{name} not given: 1.0 used"]


def test_a_name_with_a_value_stays_a_name() -> None:
    assert notes("y=wx+w+x", wx=2, w=1, x=1) == []
    assert notes("a|bb|c".replace("|", "*"), bb=1) == []


def test_places_point_into_what_was_typed() -> None:
    graph = read("α = 2x² + 3(w + x)", SourceOptions(lines=True), x=2, w=1).graph
    places = {node.place.column for node in graph.nodes if node.place is not None}
    assert places == {6, 5, 13, 11}
    assert refusal("α = 2x; y = |α[5]|").splitlines()[1:3] == ["  α = 2x; y = |α[5]|", "               ^^^^"]


@pytest.mark.parametrize("text", ["|x)|)", "|2)|x%2", "|x]|(2", "|[])|]"])
def test_bars_across_brackets_are_refused(text: str) -> None:
    assert refusal(text)


def test_labels_are_code() -> None:
    run = evaluate("y = 2x² + |w|")
    assert run.expressions == {"a": "x ** 2", "b": "2 * a", "c": "abs(w)"}
    assert run.statements["y"] == "b + c"


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("[1 2]", "[1, 2]"),
        ("1 2", "[1, 2]"),
        ("1 2; 3 4", "[[1, 2], [3, 4]]"),
        ("[1, 2; 3, 4]", "[[1, 2], [3, 4]]"),
        ("[[1. 2.]\n [3. 4.]]", "[[1., 2.], [3., 4.]]"),
        ("[1 -2 3]", "[1, -2, 3]"),
        ("1; 2", "[[1], [2]]"),
        ("2.0f", "2.0"),
        ("√2", "sqrt(2)"),
        ("2π", "2*π"),
        ("−1", "-1"),
        ("½", "(1/2)"),
    ],
)
def test_a_value_is_read_as_it_is_meant(typed: str, written: str) -> None:
    assert notes("y=x*1", x=typed) == [f"x={written}"]
    assert number("y=x*1", x=typed) == number("y=x*1", x=written)


@pytest.mark.parametrize("text", ["softmax(x)", "log_softmax(x)", "x.softmax()"])
def test_the_softmax_of_a_vector_needs_no_dimension(text: str) -> None:
    called = text.replace("(x)", "(x, dim=-1)").replace("()", "(dim=-1)")
    assert number(f"y={text}", x=[1, 2]) == number(f"y={called}", x=[1, 2])
    assert "dim=-1" in notes(f"y={text}", x=[1, 2])[0]
    run = evaluate(f"y=2*{text}", SourceOptions(values={"x": [1, 2]}))
    assert "dim=-1" in "".join(run.expressions.values())
    assert "name the dimension" in refusal(f"y={text}", x=[[1, 2], [3, 4]])


def test_a_whole_target_is_the_number_of_a_class() -> None:
    run = evaluate("y=cross_entropy(x,t)", SourceOptions(values={"x": [1, 2, 3], "t": 2}))
    assert (str(run.names["t"].dtype), run.names["t"].requires_grad) == ("torch.int64", False)
    assert run.names["y"].item() == number("y=cross_entropy(x,t.long())", x=[1, 2, 3], t=2)
    assert notes("y=nll_loss(log_softmax(x),target=t)", x=[1, 2, 3], t=2)[0].startswith(
        "t=2, the number of a class, or of a row"
    )
    assert notes("y=cross_entropy(x,t)", x=[1, 2, 3], t=[0, 0, 1]) == []  # probabilities
    for text, value in (("y=cross_entropy(x,t)", 2.5), ("y=cross_entropy(x,t)+t", 2)):
        assert "write t.long()" in refusal(text, x=[1, 2, 3], t=value)


@pytest.mark.parametrize("dtype", ["bfloat16", "bf16", "torch.bfloat16"])
def test_an_expression_computes_in_bfloat16(dtype: str) -> None:
    run = evaluate("y=x**2*1.37+x", SourceOptions(dtype=dtype, values={"x": 0.3}))
    assert repr(run.names["y"]) == "tensor(0.4238, dtype=torch.bfloat16, grad_fn=<AddBackward0>)"


def test_a_file_without_its_suffix_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "net.py").touch()
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    with pytest.raises(GvizError) as error:
        read("../net")
    assert error.value.hint == "did you mean ../net.py?"
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError, match="there is no file net"):
        read("net")
    assert read("net", net=2).graph.nodes


def test_a_static_graph_reads_mathematics_too() -> None:
    reading = read("y=2Wx", SourceOptions(static=True), W=[[1, 2], [3, 4]], x=[[1], [2]])
    assert "MatMul" in [node.label for node in reading.graph.nodes]
    assert reading.notes[0].text == "read as y=2*W @ x"


# ------------------------------------------------------------------ both notations come to the same
WRAPPED = (
    ("abs({})", "|{}|"),
    ("sqrt({})", "√({})"),
    ("log({})", "ln({})"),
    ("sigmoid({})", "σ({})"),
    ("({})", "({})"),
)
POWERS = (("", ""), ("", ""), ("**2", "²"), ("**3", "^3"), ("**-1", "⁻¹"), ("**2", "**2"))


class Chance:
    """Expressions of chance, each in Python and as mathematics has it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - nothing is kept secret

    def atom(self, depth: int) -> tuple[str, str]:
        kind = self.random.randrange(9 if depth else 3)
        if kind < 3:
            return (self.random.choice(("x", "w", "b", "z", "2", "3", "0.5")),) * 2
        code, typed = self.total(depth - 1)
        wrapped = WRAPPED[min(kind - 3, 4)] if kind != 3 or "|" not in typed else ("abs({})", "abs({})")
        return wrapped[0].format(code), wrapped[1].format(typed)

    def power(self, depth: int) -> tuple[str, str]:
        pairs = zip(self.atom(depth), self.random.choice(POWERS), strict=True)
        code, typed = (base + exponent for base, exponent in pairs)
        return code, typed

    def product(self, depth: int) -> tuple[str, str]:
        code, typed = self.power(depth)
        for _ in range(self.random.randrange(3)):
            other, others = self.power(depth)
            without = " " if typed.endswith(("^3", "**2")) else ""
            is_glued = typed[-1:].isalnum() and (typed[-1] in "xwbz" or others[:2] in ("ab", "ln"))
            needs_sign = others[0].isdecimal() or is_glued or "|" in typed + others
            sign = self.random.choice(["*", "·", "×", " * "] + [without] * (0 if needs_sign else 4))
            code, typed = f"{code}*{other}", f"{typed}{sign}{others}"
        return code, typed

    def total(self, depth: int) -> tuple[str, str]:
        code, typed = self.product(depth)
        for _ in range(self.random.randrange(3)):
            sign, written = self.random.choice([("+", "+"), ("-", "−"), ("-", "-"), ("/", "÷")])
            bracket = "({})" if sign == "/" else "{}"
            other, others = (bracket.format(text) for text in self.product(depth))
            code, typed = f"{code} {sign} {other}", f"{typed} {written} {others}"
        return code, typed


VALUES = {"x": "1.25", "w": "2", "b": "0.75", "z": "3"}


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # a logarithm of a negative number
def test_both_notations_come_to_the_same_numbers() -> None:
    options = SourceOptions(values=VALUES, dtype="float64")
    is_read = 0
    for seed in range(200 * MORE):
        code, typed = Chance(seed).total(2)
        try:
            expected = evaluate(f"y = {code}", options)
        except SourceError:
            continue  # numbers alone
        runs = [expected, evaluate(f"f(x) = {typed}" if seed % 2 else f"y = {typed}", options)]
        is_read += any(note.text.startswith("read as") for note in runs[1].notes)
        roots = [next(iter(run.roots.values())).item() for run in runs]
        assert roots[0] == pytest.approx(roots[1], rel=1e-9, nan_ok=True), (code, typed)
        for name in VALUES.keys() & expected.names.keys():
            grads = [run.names[name].grad.item() for run in runs if run.names[name].grad is not None]
            assert len(grads) == 2, (code, typed)
            assert grads[0] == pytest.approx(grads[1], rel=1e-9, nan_ok=True), (code, typed)
    assert is_read > 100 * MORE


def test_a_power_of_a_product_with_a_number_is_a_power() -> None:
    run = evaluate("y = (w*3)^3", SourceOptions(values={"w": "2"}))
    assert run.names["y"].item() == 216


def test_a_very_long_name_takes_no_longer_than_its_letters() -> None:
    start = time.process_time()
    with suppress(SourceError):
        read(f"y={'x' * 3000}", x=2)
    assert time.process_time() - start < 5


@pytest.mark.parametrize(("text", "letter"), [("y=3+4i", "i"), ("y=2j*x", "j"), ("y=3*i", ""), ("y=exp(j*x)", "")])
def test_a_letter_behind_a_number_that_may_be_the_imaginary_unit_is_said_to_be_a_name(text: str, letter: str) -> None:
    said = " ".join(note.text for note in evaluate(text, SourceOptions()).notes)
    assert "not given: 1.0 used" in said
    assert ("are no complex numbers" in said) == bool(letter)
    assert f"; {letter} is a name here" in said or not letter
