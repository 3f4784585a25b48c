"""timm without torchvision, which its data pipeline imports and its models do not need.

requirements-dev.txt has timm installed without what it depends on: the torchvision that would come with it belongs to
another build of PyTorch, and transformers fails to start beside it.
"""

import importlib.util
import sys
from enum import Enum
from types import ModuleType
from unittest.mock import patch

NEEDED = (
    "torchvision",
    "torchvision.datasets",
    "torchvision.ops",
    "torchvision.ops.misc",
    "torchvision.transforms",
    "torchvision.transforms.functional",
)


class InterpolationMode(Enum):
    """The one class of torchvision whose values are looked at while timm is imported."""

    NEAREST = "nearest"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


class _StandIn(ModuleType):
    """A package from which anything can be imported: classes that do nothing."""

    __path__ = ()

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        if (module := sys.modules.get(f"{self.__name__}.{name}")) is not None:
            return module
        return InterpolationMode if name == "InterpolationMode" else type(name, (), {})


if importlib.util.find_spec("torchvision"):
    import timm
else:
    with patch.dict(sys.modules, {name: _StandIn(name) for name in NEEDED}):
        import timm

__all__ = ["timm"]
