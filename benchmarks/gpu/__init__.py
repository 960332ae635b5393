"""The fused CUDA engine on one GPU: agreement, bandwidth, launches, and the training of the paper's experiment.

Run from the root of a checkout: ``PYTHONPATH=src python -m benchmarks.gpu``. Needs torch with CUDA, triton and numpy.
"""
