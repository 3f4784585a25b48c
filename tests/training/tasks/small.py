"""Options that make any task small enough for a test."""

SMALL = {
    "d_model": 16,
    "num_heads": 2,
    "d_ff": 32,
    "dropout": 0.0,
    "steps": 4,
    "warmup": 2,
    "schedule": "cosine",
    "weight_decay": 0.01,
    "log_every": 2,
    "validate_every": 4,
    "checkpoint_every": 2,
    "average": 1,
    "device": "cpu",
    "precision": "float32",
}
