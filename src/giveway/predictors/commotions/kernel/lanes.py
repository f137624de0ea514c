"""A SIMD vector as a Numba type: the few intrinsics everything else in the kernel is written with.

A :class:`Lanes` value is one LLVM vector, one element per simulated path. Arithmetic and comparisons work as for
scalars, ``select`` replaces branches, numbers broadcast. LLVM maps a vector to whatever registers the machine has,
so nothing depends on loops being vectorized by luck.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import extending
from numba.core import cgutils, types
from numba.core.typing import templates
from numba.core.typing.templates import AbstractTemplate, signature
from numba.extending import lower_builtin, lower_cast, models, register_model

intrinsic: Any = extending.intrinsic  # its decorated functions have a typing context as first argument, calls do not
infer_global: Any = templates.infer_global

WIDTH = 16
"""Paths side by side."""

_BITS = {types.float32: 32, types.float64: 64, types.uint32: 32, types.boolean: 1}


def _element(scalar: Any) -> ir.Type:
    if scalar == types.float32:
        return ir.FloatType()
    if scalar == types.float64:
        return ir.DoubleType()
    return ir.IntType(_BITS[scalar])


def _vector(scalar: Any) -> ir.VectorType:
    return ir.VectorType(_element(scalar), WIDTH)


class Lanes(types.Type):  # pyright: ignore[reportUntypedBaseClass]
    """Type of a vector of WIDTH elements; a mask has boolean elements."""

    def __init__(self, scalar: Any) -> None:
        self.scalar = scalar
        super().__init__(name=f"Lanes({scalar}, {WIDTH})")

    @property
    def key(self) -> Any:
        """What makes two of these types equal."""
        return self.scalar


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):  # pyright: ignore[reportUntypedBaseClass]
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, _vector(fe_type.scalar))


F32, F64, U32, MASK = Lanes(types.float32), Lanes(types.float64), Lanes(types.uint32), Lanes(types.boolean)


def _splat(builder: Any, value: Any, vector: ir.VectorType) -> Any:
    single = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(single, ir.Constant(vector, ir.Undefined), zeros)


@lower_cast(types.Number, Lanes)
def _number_to_lanes(context: Any, builder: Any, fromty: Any, toty: Any, val: Any) -> Any:
    scalar = context.cast(builder, val, fromty, toty.scalar)
    return _splat(builder, scalar, _vector(toty.scalar))


def _common(args: tuple[Any, ...]) -> Any:
    """The Lanes type among the arguments, if they agree and the rest are numbers."""
    found = {a for a in args if isinstance(a, Lanes) and a != MASK}
    fits = all(isinstance(a, Lanes | types.Number) for a in args)
    return found.pop() if len(found) == 1 and fits else None


def _arithmetic(op: Any, emit: Callable[[Any, Any, Any, Any], Any], *, mask: bool = False) -> None:
    """Teach Numba ``op`` on two Lanes (or a Lanes and a number)."""

    @infer_global(op)
    class _Template(AbstractTemplate):  # pyright: ignore[reportUntypedBaseClass, reportUnusedClass]
        def generic(self, args: Any, kws: Any) -> Any:
            kind = _common(args) if len(args) == 2 else None
            return None if kind is None else signature(MASK if mask else kind, kind, kind)

    @lower_builtin(op, Lanes, Lanes)
    def _lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        return emit(builder, sig.args[0], *args)


def _is_float(kind: Any) -> bool:
    return kind in (F32, F64)


def _flags(kind: Any) -> tuple[str, ...]:
    """32-bit operations may be fused and divisions by one number share its reciprocal; 64 bit rounds as written."""
    return ("contract", "arcp") if kind == F32 else ()


_arithmetic(operator.add, lambda b, k, x, y: b.fadd(x, y, flags=_flags(k)) if _is_float(k) else b.add(x, y))
_arithmetic(operator.sub, lambda b, k, x, y: b.fsub(x, y, flags=_flags(k)) if _is_float(k) else b.sub(x, y))
_arithmetic(operator.mul, lambda b, k, x, y: b.fmul(x, y, flags=_flags(k)) if _is_float(k) else b.mul(x, y))
_arithmetic(operator.truediv, lambda b, k, x, y: b.fdiv(x, y, flags=_flags(k)))
_arithmetic(operator.xor, lambda b, k, x, y: b.xor(x, y))
_arithmetic(operator.lt, lambda b, k, x, y: b.fcmp_ordered("<", x, y), mask=True)
_arithmetic(operator.le, lambda b, k, x, y: b.fcmp_ordered("<=", x, y), mask=True)
_arithmetic(operator.gt, lambda b, k, x, y: b.fcmp_ordered(">", x, y), mask=True)
_arithmetic(operator.ge, lambda b, k, x, y: b.fcmp_ordered(">=", x, y), mask=True)
_arithmetic(operator.eq, lambda b, k, x, y: b.fcmp_ordered("==", x, y), mask=True)


def _logic(op: Any, emit: Callable[[Any, Any, Any], Any]) -> None:
    @infer_global(op)
    class _Template(AbstractTemplate):  # pyright: ignore[reportUntypedBaseClass, reportUnusedClass]
        def generic(self, args: Any, kws: Any) -> Any:
            return signature(MASK, MASK, MASK) if args == (MASK, MASK) else None

    @lower_builtin(op, Lanes, Lanes)
    def _lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        return emit(builder, *args)


_logic(operator.and_, lambda b, x, y: b.and_(x, y))
_logic(operator.or_, lambda b, x, y: b.or_(x, y))


def _call(builder: Any, name: str, vector: ir.VectorType, *args: Any) -> Any:
    suffix = f"v{WIDTH}f{32 if isinstance(vector.element, ir.FloatType) else 64}"
    function_type = ir.FunctionType(vector, [vector] * len(args))
    function = cgutils.get_or_insert_function(builder.module, function_type, f"llvm.{name}.{suffix}")
    return builder.call(function, args)


@intrinsic
def select(typingctx: Any, mask: Any, yes: Any, no: Any) -> Any:
    """``yes`` where ``mask``, ``no`` elsewhere; both are evaluated."""
    kind = MASK if yes == MASK else _common((yes, no))
    if mask != MASK or kind is None:
        return None
    return signature(kind, MASK, kind, kind), lambda context, builder, sig, args: builder.select(*args)


@intrinsic
def negate(typingctx: Any, mask: Any) -> Any:
    """Logical not of a mask."""
    return signature(MASK, MASK), lambda context, builder, sig, args: builder.not_(args[0])


def _extremum(sign: str) -> Any:
    def typer(typingctx: Any, a: Any, b: Any) -> Any:
        kind = _common((a, b))

        def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return builder.select(builder.fcmp_ordered(sign, args[0], args[1]), args[0], args[1])

        return (signature(kind, kind, kind), emit) if kind is not None else None

    return typer


@intrinsic
def lower(typingctx: Any, a: Any, b: Any) -> Any:
    """Element-wise minimum."""
    return _extremum("<")(typingctx, a, b)


@intrinsic
def upper(typingctx: Any, a: Any, b: Any) -> Any:
    """Element-wise maximum."""
    return _extremum(">")(typingctx, a, b)


@intrinsic
def muladd(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
    """A b + c, fused where the machine can; never in kinematics, which must round as the reference does."""
    kind = _common((a, b, c))

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _call(builder, "fmuladd", _vector(sig.args[0].scalar), *args)

    return (signature(kind, kind, kind, kind), emit) if kind is not None else None


def _unary(name: str) -> Any:
    def typer(typingctx: Any, a: Any) -> Any:
        def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return _call(builder, name, _vector(sig.args[0].scalar), *args)

        return signature(a, a), emit

    return typer


@intrinsic
def root(typingctx: Any, a: Any) -> Any:
    """Square root."""
    return _unary("sqrt")(typingctx, a)


@intrinsic
def magnitude(typingctx: Any, a: Any) -> Any:
    """Absolute value."""
    return _unary("fabs")(typingctx, a)


@intrinsic
def nearest(typingctx: Any, a: Any) -> Any:
    """Nearest integer, still a floating-point number."""
    return _unary("rint")(typingctx, a)


@intrinsic
def anywhere(typingctx: Any, mask: Any) -> Any:
    """Whether any lane of a mask is set: one scalar, so that a whole block can be skipped."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        word = builder.bitcast(args[0], ir.IntType(WIDTH))
        return builder.icmp_unsigned("!=", word, ir.Constant(ir.IntType(WIDTH), 0))

    return signature(types.boolean, MASK), emit


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    struct = context.make_array(array_type)(context, builder, array)
    pointer = builder.gep(struct.data, [index])
    return builder.bitcast(pointer, _vector(array_type.dtype).as_pointer())


@intrinsic
def load(typingctx: Any, array: Any, index: Any) -> Any:
    """WIDTH consecutive elements of a flat array."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = _pointer(context, builder, sig.args[0], *args)
        return builder.load(pointer, align=_BITS[sig.args[0].dtype] // 8)

    return signature(Lanes(array.dtype), array, types.intp), emit


@intrinsic
def store(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """Write WIDTH consecutive elements of a flat array."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = _pointer(context, builder, sig.args[0], *args[:2])
        builder.store(args[2], pointer, align=_BITS[sig.args[0].dtype] // 8)
        return context.get_dummy_value()

    return signature(types.none, array, types.intp, Lanes(array.dtype)), emit


@intrinsic
def like(typingctx: Any, value: Any, model: Any) -> Any:
    """``value`` in the precision of the array ``model``."""
    target = Lanes(model.dtype)

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        source, vector = sig.args[0], _vector(target.scalar)
        if source == target:
            return args[0]
        return builder.fptrunc(args[0], vector) if target == F32 else builder.fpext(args[0], vector)

    return signature(target, value, model), emit


@intrinsic
def scale_by(typingctx: Any, value: Any, shifted: Any) -> Any:
    """Value times 2^n, n being the integer in the last bits of ``shifted``; the result must be normal."""
    bits, shift = (32, 23) if value == F32 else (64, 52)

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        whole = ir.VectorType(ir.IntType(bits), WIDTH)
        exponent = builder.shl(builder.bitcast(args[1], whole), ir.Constant(whole, [shift] * WIDTH))
        return builder.bitcast(builder.add(builder.bitcast(args[0], whole), exponent), _vector(value.scalar))

    return signature(value, value, value), emit


@intrinsic
def signed(typingctx: Any, size: Any, like: Any) -> Any:
    """|size| with the sign of ``like``."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _call(builder, "copysign", _vector(sig.args[0].scalar), *args)

    return signature(size, size, size), emit


@intrinsic
def exponent_of(typingctx: Any, value: Any) -> Any:
    """floor(log2(value)) of a positive normal 64-bit number."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        wide, small = ir.VectorType(ir.IntType(64), WIDTH), ir.VectorType(ir.IntType(32), WIDTH)
        bits = builder.lshr(builder.bitcast(args[0], wide), ir.Constant(wide, [52] * WIDTH))
        number = builder.sub(builder.trunc(bits, small), ir.Constant(small, [1023] * WIDTH))
        return builder.sitofp(number, _vector(types.float64))

    return signature(F64, F64), emit


@intrinsic
def significand_of(typingctx: Any, value: Any) -> Any:
    """Value 2^-n in [1, 2) of a positive normal 64-bit number."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        wide = ir.VectorType(ir.IntType(64), WIDTH)
        bits = builder.and_(builder.bitcast(args[0], wide), ir.Constant(wide, [0x000FFFFFFFFFFFFF] * WIDTH))
        bits = builder.or_(bits, ir.Constant(wide, [0x3FF0000000000000] * WIDTH))
        return builder.bitcast(bits, _vector(types.float64))

    return signature(F64, F64), emit


@intrinsic
def high_product(typingctx: Any, a: Any, b: Any) -> Any:
    """Upper 32 bits of the product of two 32-bit words."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        wide = ir.VectorType(ir.IntType(64), WIDTH)
        product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, [32] * WIDTH)), _vector(types.uint32))

    return signature(U32, U32, U32), emit


@intrinsic
def unit_interval(typingctx: Any, word: Any) -> Any:
    """(w + ½) 2⁻³² of a 32-bit word: uniform on (0, 1), never 0 or 1."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        wide, vector = ir.VectorType(ir.IntType(64), WIDTH), _vector(types.float64)
        # 2^52 + w as bits, minus 2^52: an exact conversion that every vector unit has.
        magic = ir.Constant(wide, [0x4330000000000000] * WIDTH)
        number = builder.bitcast(builder.or_(builder.zext(args[0], wide), magic), vector)
        number = builder.fsub(number, ir.Constant(vector, [2.0**52 - 0.5] * WIDTH))
        return builder.fmul(number, ir.Constant(vector, [2.0**-32] * WIDTH))

    return signature(F64, U32), emit


def polynomial(short: tuple[float, ...], long: tuple[float, ...]) -> Any:
    """A function Σ c_k x^k by Horner's rule, with ``short`` coefficients in 32 bit and ``long`` ones in 64 bit."""

    @intrinsic
    def evaluate(typingctx: Any, x: Any) -> Any:
        coefficients = short if x == F32 else long

        def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            vector = _vector(sig.args[0].scalar)
            result = ir.Constant(vector, [coefficients[-1]] * WIDTH)
            for coefficient in reversed(coefficients[:-1]):
                constant = ir.Constant(vector, [coefficient] * WIDTH)
                result = _call(builder, "fmuladd", vector, result, args[0], constant)
            return result

        return signature(x, x), emit

    return evaluate
