"""Networks in fused kernels beside plain torch, as a program of its own: prints relative errors by case as JSON.

Triton decides at its import whether kernels are interpreted, and for the whole process. Without a CUDA device the
environment must set TRITON_INTERPRET=1.
"""

import json

import torch

from whorl.networks import NetworkSpec, build_network

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
CASES = {
    "own steps": {"coupling": "isotropic", "own_steps": True, "alpha": 0.5, "omega_inside": True},
    "own structure": {"own_structure": True, "gamma": 0.5},
    "scheduled": {"coupling": "uncoupled", "scheduled": True, "diffusivity": "weickert"},
}


def case(settings: dict) -> dict[str, float]:
    draw = torch.Generator().manual_seed(0)
    u, target = (255 * torch.rand(1, 1, 5, 7, generator=draw).to(DEVICE) for _ in range(2))
    network = build_network(NetworkSpec(steps=2, scales=2, **settings)).to(DEVICE)
    with torch.no_grad():
        for p in network.parameters():
            if p.requires_grad:
                p.add_(0.2 * torch.randn(p.shape, dtype=p.dtype, generator=draw).to(DEVICE))
    found = []
    for fused in (False, True):
        if fused:
            network.fused()
        network.zero_grad()
        start = u.clone().requires_grad_()
        result = network(start)
        (result - target).square().mean().backward()
        gradient = torch.cat([p.grad.flatten() for p in network.parameters() if p.requires_grad])
        found.append({"image": result.detach() - u, "gradient by image": start.grad, "by parameters": gradient})
    plain, kernels = found
    return {name: float((kernels[name] - plain[name]).norm() / plain[name].norm()) for name in plain}


if __name__ == "__main__":
    print(json.dumps({name: case(settings) for name, settings in CASES.items()}))
