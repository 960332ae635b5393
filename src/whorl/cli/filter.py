"""``whorl filter``: smooth pictures with a diffusion model."""

from pathlib import Path
from typing import Annotated

from whorl.cli import options
from whorl.cli.options import Common, option, prepare, with_common_options

EXAMPLES = (
    "whorl filter photo.png smooth.png",
    "whorl filter --model gerig --contrast 8 --time 10 photo.jpg smooth.jpg",
    "whorl filter scans/ more.tif filtered/         folders and files, into a folder",
    "whorl filter huge.tif out.tif --tile auto      in windows, in little memory",
    "whorl filter --model eed tomo.mrc out.mrc      a volume, in three dimensions",
    "whorl filter --preview 96 tomo.mrc out.mrc     a look at a block of it first",
    "whorl filter --memory 2GB brain.zarr out.zarr  a volume larger than memory",
    "whorl filter ct-series/ smooth.nii.gz          DICOM slices, in Hounsfield units",
    "whorl filter --cluster tcp://head:8786 in.zarr out.zarr   on many machines",
    "whorl filter -n --json scans/ filtered/        what would be done, for a program",
)


@with_common_options
def command(
    paths: options.Paths,
    model: options.ModelName = "weickert-brox",
    contrast: options.MeasuredContrast = None,
    noise: options.Noise = None,
    time: options.Time = None,
    alpha: options.Alpha = None,
    cell: options.Cell = None,
    gamma: options.Gamma = None,
    sigma: Annotated[
        float | None, option("--sigma PX", "Presmoothing: edges are looked for after it, in pixels.")
    ] = None,
    rho: Annotated[float | None, option("--rho PX", "Smoothing of the structure tensor of ced, in pixels.")] = None,
    diffusivity: Annotated[
        str | None,
        option("--diffusivity NAME", "exponential, rational, charbonnier, weickert, tukey, tv or homogeneous."),
    ] = None,
    scheme: options.SchemeName = "explicit",
    spacing: options.SpacingText = "auto",
    memory: options.Memory = None,
    volume: options.AsVolume = False,
    cluster: options.Cluster = None,
    preview: Annotated[
        int | None,
        option(
            "--preview N",
            "Filter only a block of N voxels a side in the middle of a volume, write its slices before and after into "
            "a picture beside OUT, and say how long all of it would take.",
            min=4,
        ),
    ] = None,
    *,
    common: Common,
) -> None:
    """Smooth pictures with a diffusion model: edges above the contrast stay, the rest is smoothed.

    Reads and writes PNG, JPEG, TIFF, BigTIFF and zarr, and reads WebP and BMP. Type, alpha, resolution, orientation
    and colour profile are kept. Colours are filtered jointly, except by models for single channels, which take one
    after the other; `whorl models` says which these are.

    MRC, NIfTI and NRRD files, DICOM (a folder of slices, or one file), and TIFF and zarr whose axes say z (OME-TIFF,
    ImageJ, OME-Zarr), are volumes: they are filtered in three dimensions, with the voxel size of the file, and keep its
    header. DICOM is written as NIfTI, NRRD or a derived series; its numbers are in rescaled units (HU).

    What is filtered in several windows goes on where it was stopped, when the same command is given again.

    Without --contrast the noise of the picture is measured (or given with --noise); the contrast is a multiple of it,
    and the flow stops when most of the noise is gone. One setting is used for all pages of a file, and reported. Where
    the file says that its pixels are not square, distances along both axes are measured alike: time is in units of the
    shorter side of a pixel.
    """
    from whorl.automatic import Filtering
    from whorl.cli.batch import Batch
    from whorl.cli.treatments import ByModel, as_spacing

    settings = {"alpha": alpha, "cell": cell, "gamma": gamma, "sigma": sigma, "rho": rho, "diffusivity": diffusivity}
    policy = Filtering(model, contrast, time, noise, settings, caller="filter")
    device = prepare(common.device, common.threads)
    treatment = ByModel(policy, scheme, device, spacing=as_spacing(spacing), per_page=common.per_page)
    batch = Batch(
        "filter", treatment, common, volume=volume, memory=options.as_memory(memory), preview=preview, cluster=cluster
    )
    batch.run([Path(path) for path in paths])
