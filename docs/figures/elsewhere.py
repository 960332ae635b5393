"""Check how settings of other libraries translate: how far their results are from whorl's, in shares of the change."""

import numpy as np
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
