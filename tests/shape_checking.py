"""The type checker of the tests: shapes and types of every function whose signature states shapes."""

from collections.abc import Callable

from beartype import BeartypeConf, beartype

# As in Python's own type system, a whole number may stand where a float is expected.
_check = beartype(conf=BeartypeConf(is_pep484_tower=True))


def check_shapes(function: Callable) -> Callable:
    """`function`, checked against its signature if that names shapes; bad input to others meets their own messages."""
    states_shapes = any("jaxtyping." in str(hint) for hint in getattr(function, "__annotations__", {}).values())
    return _check(function) if states_shapes else function
