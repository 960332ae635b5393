"""Check how settings of other libraries translate: how far their results are from whorl's, in shares of the change."""

import numpy as np
import torch
from skimage.data import camera

import whorl


def share(theirs, ours, image):
    """The difference of two results beside what filtering changed, both as root mean squares."""
    return float(np.linalg.norm(theirs - ours) / np.linalg.norm(ours - image))


def itk(image, conductance, step, steps):
    import SimpleITK as sitk

    picture = sitk.GetImageFromArray(image)
    done = sitk.GradientAnisotropicDiffusion(picture, step, conductance, conductanceScalingUpdateInterval=1000,
                                             numberOfIterations=steps)  # fmt: skip
    slopes = np.gradient(image)
    return sitk.GetArrayFromImage(done), conductance * float(np.sqrt(sum(s**2 for s in slopes).mean()))


def opencv(image, kappa, step, steps):
    import cv2

    colour = cv2.merge([image.astype(np.uint8)] * 3)
    return cv2.ximgproc.anisotropicDiffusion(colour, step, kappa, steps)[..., 0].astype(np.float32), 2 * kappa


def medpy(image, kappa, step, steps):
    from medpy.filter.smoothing import anisotropic_diffusion

    return anisotropic_diffusion(image, niter=steps, kappa=kappa, gamma=step, option=1), kappa / np.sqrt(2)


def regularisation_toolkit(image):
    """The formula of NDF with the penalty of Perona and Malik, as its source has it; pip does not find its program."""
    weight, steps, tau = 10.0, 300, 0.01
    for edge in (20.0, 40.0):
        u = image.copy()
        for _ in range(steps):
            v, total = np.pad(u, 1, mode="reflect"), 0.0
            for near in (v[1:-1, 2:], v[1:-1, :-2], v[2:, 1:-1], v[:-2, 1:-1]):
                slope = near - u
                total = total + slope / (1 + 2 * (slope / edge) ** 2)
            u = u + tau * (weight * total - (u - image))
        model = whorl.models.build("perona-malik", contrast=edge / np.sqrt(2), diffusivity="rational", alpha=0.0)
        f = torch.from_numpy(image)[None, None]
        with torch.no_grad():
            held = model.with_data(f, 1 / weight)
            ours, free = (each(f, time=weight * tau * steps)[0, 0].numpy() for each in (held, model))
        print(f"NDF {edge:g}: {share(u, ours, image):.2f} of the change, {share(u, free, image):.2f} without data term")


def total_variation(image):
    """One implicit step of total variation beside the flow of that time."""
    from skimage.restoration import denoise_tv_chambolle

    for weight in (5.0, 20.0):
        theirs = denoise_tv_chambolle(image, weight=weight, eps=1e-6, max_num_iter=2000)
        ours = whorl.diffuse(image, "perona-malik", contrast=1.0, time=weight, diffusivity="tv", scheme="fed")
        print(f"scikit-image {weight:g}: difference {share(theirs, ours, image):.2f} of the change")


def main():
    image = camera()[100:228, 200:328].astype(np.float32)
    total_variation(image)
    regularisation_toolkit(image)
    for name, call, value in (("ITK", itk, 1.0), ("ITK", itk, 3.0), ("OpenCV", opencv, 20.0), ("OpenCV", opencv, 40.0),
                              ("medpy", medpy, 20.0), ("medpy", medpy, 40.0)):  # fmt: skip
        try:
            theirs, contrast = call(image, value, 0.125, 16)
        except (ImportError, AttributeError) as missing:
            print(name, missing)
            continue
        time = 8.0 if call is opencv else 2.0
        ours = whorl.diffuse(image, "perona-malik", contrast=contrast, time=time, diffusivity="exponential", alpha=0.0)
        other = whorl.diffuse(
            image, "perona-malik", contrast=2 * contrast, time=time, diffusivity="exponential", alpha=0.0
        )
        print(f"{name} {value:g}: contrast {contrast:.1f}, difference {share(theirs, ours, image):.2f} of the change, "
              f"{share(theirs, other, image):.2f} with twice the contrast")  # fmt: skip


if __name__ == "__main__":
    main()
