"""Inference of a network with layers that make tensors of tens of megabytes."""

import torch

torch.manual_seed(1)
torch.set_num_threads(1)
network = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 3, padding=1),
    torch.nn.ReLU(),
    torch.nn.Conv2d(16, 16, 3, padding=1),
    torch.nn.ReLU(),
    torch.nn.MaxPool2d(2),
    torch.nn.Conv2d(16, 32, 3, padding=1),
    torch.nn.ReLU(),
).eval()
images = torch.rand(8, 3, 256, 256)
with torch.inference_mode():
    total = sum(float(network(images).sum()) for _ in range(10))
print(total)
