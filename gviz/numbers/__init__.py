"""What is known of numbers apart from tensors: element types, shapes, how they print, and PyTorch's words for them."""
