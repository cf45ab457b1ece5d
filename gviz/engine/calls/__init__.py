"""What PyTorch takes in a call, and what it says of any other: its call forms, and the dtypes that its kernels lack."""
