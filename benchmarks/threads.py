"""The same number of threads for everyone: each library has its own switch."""

import sys

__all__ = ["use_threads"]


def use_threads(count: int) -> None:
    """Set every library that is already imported to ``count`` threads (NumPy, MedPy, OpenCV's loop: one whatever)."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(count)
    if "numba" in sys.modules:
        numba = sys.modules["numba"]
        numba.set_num_threads(min(count, numba.config.NUMBA_NUM_THREADS))
    if "itk" in sys.modules:
        sys.modules["itk"].MultiThreaderBase.SetGlobalDefaultNumberOfThreads(count)
    if "SimpleITK" in sys.modules:
        sys.modules["SimpleITK"].ProcessObject.SetGlobalDefaultNumberOfThreads(count)
    if "diplib" in sys.modules:
        sys.modules["diplib"].SetNumberOfThreads(count)
    if "cv2" in sys.modules:
        sys.modules["cv2"].setNumThreads(count)
