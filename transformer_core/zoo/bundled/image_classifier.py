"""Bundled image classifiers: they name handwritten digits."""

import time

import numpy as np
import torch
from jaxtyping import Float, UInt8
from PIL import Image
from torch import Tensor

from transformer_core.inspection import Inspection, PatchImage, Prediction
from transformer_core.trained import TrainedImageClassifier
from transformer_core.zoo.axis import Axis, stack_of
from transformer_core.zoo.bundled.bundled_model import TOP, BundledModel
from transformer_core.zoo.device_memory import device_memory
from transformer_core.zoo.image_input import name_of, upright
from transformer_core.zoo.input_checks import sentence
from transformer_core.zoo.interface import InputError, InspectionOptions


class InspectableImageClassifier(BundledModel[TrainedImageClassifier]):
    """An image classifier whose attention can be inspected (an `InspectableModel`)."""

    family = "image"
    architecture = "VisionTransformer"
    abilities = frozenset({"image", "drawing"})
    max_tokens = None

    def tokens(self, text: str, read_special_tokens: bool = False) -> tuple[str, ...]:
        """None: an image model reads no text."""
        return ()

    def inspect(
        self,
        image: Image.Image,
        options: InspectionOptions = InspectionOptions(),  # noqa: B008
    ) -> Inspection:
        """Record one pass over an image and name its class, the likeliest one.

        The image may be of any mode and size: it is brought into the form of the data that the model learned from. Of
        an animation the first frame is read.

        Raises:
            InputError: no image, one that is damaged, too large or too thin, or one on which nothing stands out.
            DeviceMemoryError: too little memory on a GPU.
        """
        started = time.perf_counter()
        name = name_of(image)
        picture, notes = upright(image)
        try:
            inputs = self.trained.read(picture)
        except ValueError as error:
            raise InputError(f"{sentence(error)} Draw one digit, or choose an image of one.") from error
        with device_memory(), torch.inference_mode():
            logits, trace = self._record(lambda: self.trained.model(inputs.to(self.device)))
        axis = self._axis()
        classes = self._classes(logits[0])
        return self._inspection(
            name,
            options,
            classes.candidates[0][0],
            {"self": stack_of("self", list(trace), axis, axis)},
            trace,
            time.perf_counter() - started,
            notes=notes,
            predictions=[classes],
            image=PatchImage(_pixels(inputs), grid=(self.config.side, self.config.side), first_patch=1),
        )

    def _axis(self) -> Axis:
        side = range(1, self.config.side + 1)
        patches = [f"row {row}, column {column}" for row in side for column in side]
        return Axis(("class", *patches), "image", special=(0,))

    def _classes(self, logits: Float[Tensor, " class"]) -> Prediction:
        best = logits.softmax(dim=-1).topk(min(TOP, len(logits)))
        names = [self.trained.class_names[index] for index in best.indices.tolist()]
        return Prediction("class", None, tuple(zip(names, best.values.tolist(), strict=True)))


def _pixels(inputs: Float[Tensor, "1 1 height width"]) -> UInt8[np.ndarray, "height width 3"]:
    """What the model read, ink black on white."""
    return (255 * (1 - inputs[0, 0])).round().to(torch.uint8).unsqueeze(-1).expand(-1, -1, 3).numpy()
