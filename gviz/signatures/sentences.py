"""What functions do, in a sentence each, for ``help``: those whose declaration says nothing itself."""

from __future__ import annotations

_LINES = """
cat concat concatenate: Return tensors one behind the other along a dim that they have.
stack: Return tensors one behind the other along a new dim.
atleast_1d: Return tensors with at least one dim.
atleast_2d: Return tensors with at least two dims.
atleast_3d: Return tensors with at least three dims.
hstack: Return tensors side by side, along their second dim.
vstack row_stack: Return tensors below each other, along their first dim.
dstack: Return tensors behind each other, along their third dim.
column_stack: Return vectors and matrices side by side, as columns.
unbind: Return the slices along a dim, as views.
split split_with_sizes: Return parts of these sizes along a dim, as views.
chunk: Return so many parts of equal size along a dim, as views; the last one may be smaller.
tensor_split: Return so many parts along a dim, or those between these indices, as views.
hsplit: Return parts along the second dim.
vsplit: Return parts along the first dim.
dsplit: Return parts along the third dim.
leaky_relu: Return positive elements as they are, others times a small slope.
relu6: Return elements kept between 0 and 6.
threshold: Return elements above a threshold as they are, a value in place of the others.
hardshrink: Return elements further from zero than lambd, zero in place of the others.
softshrink: Return elements moved towards zero by lambd, and no further.
rrelu: Return positive elements as they are, others times a random slope in training, or the middle one.
selu: Return the scaled exponential linear unit of each element.
celu: Return the continuously differentiable exponential linear unit of each element.
elu: Return positive elements as they are, alpha * (exp(x) - 1) of the others.
silu: Return each element times its sigmoid.
mish: Return each element times the tanh of its softplus.
softsign: Return each element over one more than its size.
tanhshrink: Return each element less its tanh.
gelu: Return each element times the share of normal numbers below it.
softplus: Return log(1 + exp(x)), a smooth relu.
logsigmoid: Return the logarithm of the sigmoid of each element.
hardswish: Return each element times its hardsigmoid.
hardsigmoid: Return a sigmoid made of three lines.
hardtanh: Return elements kept between two bounds.
glu: Return the first half along a dim times the sigmoid of the second.
add: Return the sum, with the second operand times alpha.
sub subtract: Return the difference, with the second operand times alpha.
rsub: Return the second operand, less the first times alpha.
neg negative: Return each element with the other sign.
abs absolute: Return the size of each element.
sgn sign: Return -1, 0 or 1, by the sign of each element.
conj conj_physical resolve_conj: Return the complex conjugate, which of real numbers is the tensor itself.
imag: Return the imaginary parts of complex numbers.
angle: Return the angle of each number in the complex plane: 0, or pi below zero, if it is real.
real: Return the real part, which of real numbers is the tensor itself.
positive pos: Return the tensor itself.
mul multiply: Return the product of each two elements.
div divide true_divide: Return the quotient of each two elements, rounded if a mode says how.
reciprocal: Return one over each element.
addcmul: Return the tensor plus value times the product of two others.
addcdiv: Return the tensor plus value times the quotient of two others.
pow: Return each element raised to a power.
square: Return each element times itself.
float_power: Return each element raised to a power, in double precision.
uniform: Return uniform random numbers between two bounds.
poisson: Return Poisson random numbers, each with its rate.
log_normal: Return the exponentials of normal random numbers of this mean and deviation.
cauchy: Return Cauchy random numbers of this median and width.
geometric: Return how many trials there were until the first success, by chance.
binomial: Return how many of so many trials succeed, by chance.
normal: Return normal random numbers of a mean and a standard deviation.
exponential: Return exponential random numbers of a rate.
bernoulli: Return one with the probability that each element says, else zero.
random: Return random whole numbers.
multinomial: Return numbers drawn with the weights of each row.
relu: Return positive elements as they are, zero in place of the others.
max: Return the largest element, those along a dim with their places, or the larger of each two.
min: Return the smallest element, those along a dim with their places, or the smaller of each two.
maximum: Return the larger of each two elements.
minimum: Return the smaller of each two elements.
fmax: Return the larger of each two elements; nan counts for nothing.
fmin: Return the smaller of each two elements; nan counts for nothing.
heaviside: Return 0 below zero, 1 above it, and the values at zero.
clamp clip: Return elements kept between two bounds, either of which may be left out.
clamp_min: Return elements, but no less than a bound.
clamp_max: Return elements, but no more than a bound.
where: Return elements of the first where the condition holds, of the second elsewhere; or the places where it holds.
masked_fill: Return the tensor with a value where the mask is true.
eq: Return whether each two elements are equal.
ne not_equal: Return whether each two elements differ.
lt less: Return whether each element is less than the other.
le less_equal: Return whether each element is less than the other, or equal.
gt greater: Return whether each element is greater than the other.
ge greater_equal: Return whether each element is greater than the other, or equal.
logical_and: Return whether both elements are not zero.
logical_or: Return whether one of both elements is not zero.
logical_xor: Return whether just one of both elements is not zero.
logical_not: Return whether each element is zero.
isnan: Return whether each element is nan.
isinf: Return whether each element is infinite.
isfinite: Return whether each element is neither infinite nor nan.
isposinf: Return whether each element is positive and infinite.
isneginf: Return whether each element is negative and infinite.
signbit: Return whether each element is negative, minus zero included.
isclose: Return whether each two elements are close.
allclose: Return whether all elements are close to those of the other.
equal: Return whether both tensors have the same shape and elements.
is_same_size: Return whether both tensors have the same shape.
bitwise_and and: Return the bits that both elements have.
bitwise_or or: Return the bits that one of both elements has.
bitwise_xor xor: Return the bits that just one of both elements has.
bitwise_not invert: Return the bits that each element has not.
bitwise_left_shift lshift: Return elements with their bits moved to the left.
bitwise_right_shift rshift: Return elements with their bits moved to the right.
zero: Return zeros.
fill: Return one value everywhere.
clone: Return a copy, through which the gradient flows back.
copy: Return the elements of another tensor in the shape and dtype of this one.
inverse inv: Return the inverse of a square matrix, or of each of a batch.
inv_ex: Return the same, and 0, or the number of the first zero on the diagonal.
pinverse pinv: Return the pseudo-inverse of a matrix, or of each of a batch.
det: Return the determinant of a square matrix, or of each of a batch.
slogdet: Return the sign of the determinant, and the logarithm of its size.
solve: Return X in A X = B.
solve_triangular: Return X in A X = B for a triangular A.
cholesky: Return the triangular factor L of a positive definite matrix L L^T.
cholesky_ex: Return the same, and 0, or the order of the first minor that is not positive definite.
eigh: Return the eigenvalues and eigenvectors of a symmetric matrix.
eigvals: Return the eigenvalues of a matrix, which are complex numbers.
matrix_exp: Return the exponential of a square matrix, or of each of a batch.
polygamma: Return the n-th derivative of digamma.
cholesky_solve: Return X in A X = B, for the triangular factor of A.
gcd: Return the greatest common divisor of each two numbers.
lcm: Return the least common multiple of each two numbers.
eigvalsh: Return the eigenvalues of a symmetric matrix.
svd: Return the singular value decomposition of a matrix: U, the singular values, and V^T.
svdvals: Return the singular values of a matrix.
qr: Return an orthogonal and an upper triangular factor of a matrix.
matrix_rank: Return how many singular values are above a tolerance.
exp: Return e raised to each element.
exp2: Return 2 raised to each element.
expm1: Return e raised to each element, less 1.
log: Return the natural logarithm of each element.
log2: Return the logarithm of each element to base 2.
log10: Return the logarithm of each element to base 10.
log1p: Return the natural logarithm of 1 plus each element.
sqrt: Return the square root of each element.
rsqrt: Return one over the square root of each element.
nan_to_num: Return elements with numbers in place of nan and infinities.
sin: Return the sine of each element.
cos: Return the cosine of each element.
tan: Return the tangent of each element.
asin arcsin: Return the angle whose sine each element is.
acos arccos: Return the angle whose cosine each element is.
atan arctan: Return the angle whose tangent each element is.
sinh: Return the hyperbolic sine of each element.
cosh: Return the hyperbolic cosine of each element.
tanh: Return the hyperbolic tangent of each element.
asinh arcsinh: Return the inverse hyperbolic sine of each element.
acosh arccosh: Return the inverse hyperbolic cosine of each element.
atanh arctanh: Return the inverse hyperbolic tangent of each element.
deg2rad: Return angles in radians, of angles in degrees.
rad2deg: Return angles in degrees, of angles in radians.
sigmoid expit: Return 1 / (1 + exp(-x)) of each element.
sinc: Return sin(pi x) / (pi x) of each element.
logit: Return log(x / (1 - x)) of each element, kept off 0 and 1 by eps.
atan2 arctan2: Return the angle of each point, of its y and its x.
hypot: Return the length of the hypotenuse, of both legs.
logaddexp: Return the logarithm of the sum of exponentials of each two elements.
logaddexp2: Return the logarithm to base 2 of the sum of powers of 2.
copysign: Return the size of each element with the sign of the other.
select: Return the slice at an index of a dim, as a view.
index_put: Return the tensor with values at the places that index tensors name.
mm: Return the product of two matrices.
mv: Return the product of a matrix and a vector.
dot: Return the sum of the products of two vectors.
vdot: Return the sum of the products of two vectors, the first one conjugated.
bmm: Return the products of the matrices of two batches.
matmul: Return the product of matrices, vectors, or batches of them.
addmm: Return beta times the input plus alpha times the product of two matrices.
addmv: Return beta times the input plus alpha times the product of a matrix and a vector.
baddbmm: Return beta times the input plus alpha times the products of two batches of matrices.
addbmm: Return beta times the input plus alpha times the sum of the products of two batches of matrices.
sum: Return the sum of all elements, or of those along dims.
mean: Return the mean of all elements, or of those along dims.
prod: Return the product of all elements, or of those along a dim.
amax: Return the largest elements along dims; equal ones share the gradient.
amin: Return the smallest elements along dims; equal ones share the gradient.
aminmax: Return the smallest and the largest element, of all or along a dim.
argmax: Return the place of the largest element, of all or along a dim.
argmin: Return the place of the smallest element, of all or along a dim.
any: Return whether an element is not zero, of all or along dims.
all: Return whether no element is zero, of all or along dims.
softmax: Return the exponentials of elements over their sum along a dim.
softmin: Return the softmax of the negative elements.
log_softmax: Return the logarithm of the softmax along a dim.
logsumexp: Return the logarithm of the sum of exponentials along dims.
sort: Return the elements in order along a dim, and their places.
msort: Return rows sorted along the first dim.
ldexp: Return each element times a power of two.
is_nonzero: Return whether the only element is not zero.
vecdot: Return the dot products of vectors along a dim.
argsort: Return the places of the elements in order along a dim.
topk: Return the k largest or smallest elements along a dim, and their places.
kthvalue: Return the k-th smallest element along a dim, and its place.
median: Return the middle element, of all or along a dim with its place.
nanmedian: Return the middle element of what is not NaN, of all or along a dim with its place.
mode: Return the most frequent element along a dim, and its place.
unique: Return the elements that differ, in order.
index_select: Return the slices along a dim that an index tensor names.
index_add: Return the tensor with slices added to those that an index tensor names.
index_copy: Return the tensor with slices in place of those that an index tensor names.
index_fill: Return the tensor with a value in the slices that an index tensor names.
masked_select: Return the elements where the mask is true, in one dim.
masked_scatter: Return the tensor with elements of a source where the mask is true.
take: Return the elements at places of the tensor as one dim.
put: Return the tensor with elements written, or added, at places of it as one dim.
cross: Return the cross product of vectors along a dim.
view reshape: Return the elements in another shape; a view has the memory of the tensor.
reshape_as view_as: Return the elements in the shape of another tensor.
expand_as: Return the tensor in the shape of another, with dims of size one repeated.
ravel: Return the elements in one dim.
flatten: Return the tensor with several dims made one.
unflatten: Return the tensor with one dim made several.
contiguous: Return the tensor, or a copy whose elements lie in the order of their indices.
adjoint: Return the tensor with its last two dims exchanged, and conjugated.
t: Return a matrix with its dims exchanged.
transpose swapaxes swapdims: Return the tensor with two dims exchanged, as a view.
permute: Return the tensor with its dims in another order, as a view.
movedim moveaxis: Return the tensor with dims at other places, as a view.
squeeze: Return the tensor without dims of size one, as a view.
unsqueeze: Return the tensor with a new dim of size one, as a view.
expand broadcast_to: Return the tensor with dims of size one repeated without memory.
sum_to_size: Return the sums that give a shape which can be broadcast to that of the tensor.
as_strided: Return a view of the tensor's memory with these sizes and strides.
repeat tile: Return the tensor so many times along each dim.
repeat_interleave: Return each element, or slice, so many times in a row.
flip: Return the tensor with the order along dims reversed.
fliplr: Return the tensor with the order of its columns reversed.
flipud: Return the tensor with the order of its rows reversed.
roll: Return the tensor with elements moved along dims, those at the end to the start.
rot90: Return the tensor turned by right angles in the plane of two dims.
tril: Return a matrix with zeros above a diagonal.
triu: Return a matrix with zeros below a diagonal.
diagonal: Return a diagonal of the plane of two dims, as a view.
diag: Return the diagonal of a matrix, or the matrix with a vector as its diagonal.
diag_embed: Return matrices with the last dim as their diagonals.
diagflat: Return the matrix with all elements as its diagonal.
trace: Return the sum of the diagonal of a matrix.
unfold: Return windows of a dim, as a view with the windows in a new dim.
broadcast_tensors: Return tensors expanded to one shape.
meshgrid: Return the coordinates of a grid, a tensor for each vector.
diff: Return the differences of neighbours along a dim.
floor: Return each element rounded down.
ceil: Return each element rounded up.
fake_quantize_per_tensor_affine: Return elements as integers of steps of one size would have them, within bounds.
fake_quantize_per_channel_affine: Return elements as integers of steps of a size for each channel would have them.
trunc fix: Return each element rounded towards zero.
round: Return each element rounded to the nearest, halves to the even one.
frac: Return each element less its whole part.
floor_divide floordiv: Return the quotient of each two elements, rounded down.
fmod: Return the rest of a division, with the sign of the dividend.
remainder mod: Return the rest of a division, with the sign of the divisor.
cumsum: Return the sums of the elements up to each, along a dim.
cumprod: Return the products of the elements up to each, along a dim.
cummax: Return the largest element up to each along a dim, and its place.
cummin: Return the smallest element up to each along a dim, and its place.
logcumsumexp: Return the logarithms of the sums of exponentials up to each, along a dim.
gather: Return the elements at places that an index tensor names along a dim.
scatter: Return the tensor with elements written at places that an index tensor names along a dim.
scatter_add: Return the tensor with elements added at places that an index tensor names along a dim.
scatter_reduce: Return the tensor with elements joined by an operation at places that an index tensor names.
erf: Return the error function of each element.
erfc: Return one less the error function of each element.
xlogy: Return x log y of each two elements, zero where x is zero.
var: Return the variance of all elements, or of those along dims.
std: Return the standard deviation of all elements, or of those along dims.
var_mean: Return the variance and the mean.
std_mean: Return the standard deviation and the mean.
vector_norm: Return the norm of all elements as a vector, or of those along dims.
dist: Return the norm of the difference of two tensors.
renorm: Return the tensor with each slice along a dim scaled down to a norm.
nansum: Return the sum of the elements that are not nan.
nanmean: Return the mean of the elements that are not nan.
nonzero argwhere: Return the places of the elements that are not zero.
count_nonzero: Return how many elements are not zero.
bincount: Return how often each whole number occurs.
type_as: Return the tensor in the dtype of another.
tril_indices: Return the rows and columns of the lower triangle of a matrix.
triu_indices: Return the rows and columns of the upper triangle of a matrix.
pixel_shuffle: Return images enlarged by elements of their channels.
pixel_unshuffle: Return images made smaller, with their elements in more channels.
max_pool1d max_pool2d max_pool3d: Return the largest element of each window.
avg_pool1d avg_pool2d avg_pool3d: Return the mean of each window.
adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d: Return the means of windows that give an output size.
adaptive_max_pool1d adaptive_max_pool2d: Return the largest of windows that give an output size.
dropout1d dropout2d dropout3d: Return the input with whole channels set to zero at random, in training.
rtruediv: Return the quotient, with the operands exchanged.
rfloordiv: Return the quotient rounded down, with the operands exchanged.
rmod: Return the rest of a division, with the operands exchanged.
imod: Return the rest of a division, with the sign of the divisor.
ipow: Return each element raised to a power.
rpow: Return the power, with the operands exchanged.
rlshift: Return the bits of the other operand moved to the left.
rrshift: Return the bits of the other operand moved to the right.
rmatmul: Return the product of matrices, vectors, or batches of them, with the operands exchanged.
delitem: Refuse to delete elements.
cpu cuda: Return the tensor on that device, which here can be the CPU alone.
float double half bfloat16 long int short byte char bool: Return the tensor in the dtype of that name.
"""
SENTENCES = {
    name: text
    for names, _, text in (line.partition(": ") for line in _LINES.strip().splitlines())
    for name in names.split()
}
"""By the name of a function, without the underscore of its in-place form."""
