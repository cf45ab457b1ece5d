"""What people look up: operations by their names, and the errors and warnings of autograd by their texts."""
