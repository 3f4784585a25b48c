"""Side-by-side measurements on the machine at hand: `python -m benchmarks NAME`. Tests never measure time."""
