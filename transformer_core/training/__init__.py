"""What trains a Transformer: data, schedule, loss, and the loop that uses them."""
