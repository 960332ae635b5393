"""Plain PyTorch: the NumPy loop's four neighbours with eager tensors, as most repositories write it."""

from benchmarks.peers.base import Image, Method, Run


def load() -> Run:
    import torch

    def run(image: Image, contrast: float, steps: int, tau: float) -> Image:
        u = torch.from_numpy(image).clone()
        for _ in range(steps):
            fluxes = []
            for axis in (0, 1):
                d = u.diff(dim=axis)
                s2 = d.square() if u.ndim == 2 else d.square().sum(dim=2, keepdim=True)
                fluxes.append(tau * torch.exp(s2 / (-2 * contrast**2)) * d)
            for axis, flux in enumerate(fluxes):
                u.narrow(axis, 0, u.shape[axis] - 1).add_(flux)
                u.narrow(axis, 1, u.shape[axis] - 1).sub_(flux)
        return u.numpy()

    return run


METHODS = [
    Method(
        name="torch-loop",
        library="torch",
        distribution="torch",
        model="perona-malik",
        layout="any",
        tau=0.25,
        tau_reason="max-min limit of the 5-point stencil",
        contrast="lambda",
        contrast_range=(10.0, 160.0),
        boundary="no flux",
        precision="float32",
        settings="four neighbours, exponential g, eager",
        load=load,
    )
]
