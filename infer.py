import torch
net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten(), torch.nn.LazyLinear(2))
first = torch.randn(2, 3, 8, 8)
with torch.no_grad():
    for _ in range(8):
        net(first)
