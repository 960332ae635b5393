"""The fused CUDA engine: kernels in Triton, forward and backward by hand."""
