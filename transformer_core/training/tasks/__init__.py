"""What can be trained: each task with its data, its model, its loss and its card."""
