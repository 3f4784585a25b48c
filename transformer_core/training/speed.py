"""What makes training faster on the machine at hand without changing what is trained."""

import contextlib
import ctypes
import platform
import sys
import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel


def keep_freed_memory() -> None:
    """Tell glibc to keep freed memory for the next step instead of handing it back to the kernel.

    Every step allocates the same large tensors. Fresh pages are cleared by the kernel each time, which cost about a
    third of a training step on two CPU cores. Other C libraries are left as they are.
    """
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        trim_threshold, mmap_max = -1, -4  # M_TRIM_THRESHOLD and M_MMAP_MAX of malloc.h
        mallopt(mmap_max, 0)
        mallopt(trim_threshold, 2**31 - 1)


def is_bfloat16_faster(device: torch.device) -> bool:
    """Does this device multiply matrices of a Transformer's size faster in bfloat16 than in float32?"""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type != "cpu":
        return False
    fastest = {}
    for dtype in (torch.float32, torch.bfloat16):
        a, b = torch.ones(2048, 256, dtype=dtype), torch.ones(256, 1024, dtype=dtype)
        times = []
        for _ in range(10):
            start = time.perf_counter()
            a @ b
            times.append(time.perf_counter() - start)
        fastest[dtype] = min(times)
    return fastest[torch.bfloat16] < fastest[torch.float32]


@contextlib.contextmanager
def mixed_precision(device: torch.device, bfloat16: bool):
    """Matrix products in bfloat16 where asked for; weights, optimizer, norms and loss stay in float32."""
    with contextlib.ExitStack() as stack:
        if bfloat16:
            stack.enter_context(torch.autocast(device.type, torch.bfloat16))
            if device.type == "cpu":
                # The CPU's fused kernel has a slow backward pass in bfloat16; for sentences the plain one is faster.
                stack.enter_context(sdpa_kernel(SDPBackend.MATH))
        yield


def describe_hardware(device: torch.device) -> str:
    """The processor that did the work, in words."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    name = platform.processor() or platform.machine()
    # Linux tells the name of most processors there and nowhere else.
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        name = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), name)
    if device.type != "cpu":
        return f"{name}, {device.type}"
    threads = torch.get_num_threads()
    return f"{name}, {threads} thread{'s' * (threads > 1)}"
