"""Models that read an image as a sequence of patches (ViT, arXiv 2010.11929), with or without classes."""

import time

import numpy as np
import PIL.Image
import torch
from jaxtyping import Shaped, UInt8
from torch import Tensor

from transformer_core.inspection import Inspection, PatchImage
from transformer_core.zoo.axis import Axis
from transformer_core.zoo.hugging_face.families.classes import read_classes
from transformer_core.zoo.hugging_face.families.hugging_face_model import ELSEWHERE, HuggingFaceModel, Recording
from transformer_core.zoo.hugging_face.opening.checkpoint import Checkpoint
from transformer_core.zoo.image_input import name_of, read_image
from transformer_core.zoo.interface import InputError, InspectionOptions

SPECIAL_TOKENS = ("class", "distillation")
"""What may stand before the patches: ViT's class token, and DeiT's distillation token (arXiv 2012.12877)."""

PROBE = PIL.Image.new("RGB", (64, 48), "gray")
"""The image of the first pass."""


class ImageModel(HuggingFaceModel):
    """A vision model whose attention can be inspected (an `InspectableModel`)."""

    max_tokens = None

    def _prepare(self, checkpoint: Checkpoint) -> None:
        self._processor = checkpoint.image_processor
        self.abilities = frozenset({"image"})

    def tokens(self, text: str, read_special_tokens: bool = False) -> tuple[str, ...]:
        """None: an image model reads no text."""
        return ()

    def _probe(self) -> Recording:
        with self._running():
            recording, _ = self._record_image(PROBE)
        return recording

    def inspect(
        self,
        image: PIL.Image.Image,
        options: InspectionOptions = InspectionOptions(),  # noqa: B008
    ) -> Inspection:
        """Record one forward pass over an image. A model with classes answers with the likeliest.

        The image may be of any mode and size. It is turned as its EXIF data say; where it is transparent, white shows
        through; of an animation the first frame is read.

        Raises:
            InputError: no image, one that is damaged, or one that is too large.
            DeviceMemoryError: too little memory on a GPU.
        """
        started = time.perf_counter()
        picture, notes = read_image(image)
        with self._running():
            recording, patches = self._record_image(picture)
            output = recording.outputs[0].cpu()
        notes += self._about_output(output)
        answer, predictions = "", []
        if "logits" in recording.outputs and not output.isnan().any():
            answer, predictions = read_classes(output[0], self.config)
        return self._inspection(
            name_of(image),
            options,
            [recording],
            recording.stacks,
            answer=answer,
            seconds=time.perf_counter() - started,
            notes=notes,
            predictions=predictions,
            image=patches,
        )

    def _record_image(self, image: PIL.Image.Image) -> tuple[Recording, PatchImage]:
        with self._failing_in_words():
            pixel_values = self._processor(images=image, return_tensors="pt")["pixel_values"]
        inputs = {"pixel_values": pixel_values.to(self.device, self.dtype)}
        outputs, trace = self._run(inputs)
        patches = self._patches(pixel_values, max(call.num_queries for call in trace))
        tokens = Axis(self._labels(patches), "image", special=tuple(range(patches.first_patch)))
        return self._lay_over(outputs, trace, {"self": (tokens, tokens)}), patches

    def _patches(self, pixel_values: Tensor, num_tokens: int) -> PatchImage:
        """Where the patches lie among so many tokens. They are the last ones."""
        patch = getattr(self.config, "patch_size", None)
        height, width = patch if isinstance(patch, list | tuple) and len(patch) == 2 else (patch, patch)
        if not (isinstance(height, int) and isinstance(width, int) and pixel_values.dim() == 4):
            raise InputError(f"{self.architecture} does not cut its image into a grid of equal patches.")
        rows, columns = pixel_values.size(2) // height, pixel_values.size(3) // width
        first = num_tokens - rows * columns
        if not 0 <= first - self._num_registers <= len(SPECIAL_TOKENS):
            raise InputError(
                f"The attention of {self.architecture} cannot be laid over its patches: they are {rows} × {columns}, "
                f"and its maps have at most {num_tokens:,} tokens, {ELSEWHERE}."
            )
        pixels = self._pixels(pixel_values[0])[: rows * height, : columns * width]
        return PatchImage(pixels, grid=(rows, columns), first_patch=first)

    @property
    def _num_registers(self) -> int:
        """Tokens without a meaning of their own, behind the special ones (arXiv 2309.16588)."""
        return getattr(self.config, "num_register_tokens", 0)

    def _labels(self, patches: PatchImage) -> tuple[str, ...]:
        rows, columns = patches.grid
        return (
            *SPECIAL_TOKENS[: patches.first_patch - self._num_registers],
            *(f"register {number}" for number in range(1, self._num_registers + 1)),
            *(f"row {row}, column {column}" for row in range(1, rows + 1) for column in range(1, columns + 1)),
        )

    def _pixels(self, pixel_values: Shaped[Tensor, "channel height width"]) -> UInt8[np.ndarray, "height width 3"]:
        """The image that the model saw, with the processor's arithmetic undone."""
        pixels = pixel_values.float().movedim(0, -1)
        if getattr(self._processor, "do_normalize", False):
            pixels = pixels * torch.tensor(self._processor.image_std) + torch.tensor(self._processor.image_mean)
        if getattr(self._processor, "do_rescale", False):
            pixels = pixels / self._processor.rescale_factor
        return pixels.round().clamp(0, 255).to(torch.uint8).expand(-1, -1, 3).numpy()
