r"""Adam on the parameters of a multiscale block, on the device and in a fixed order of summation.

Parameters are :math:`(\log\tau, \log\lambda, \beta_1, \dots, \beta_L)`. The kernels read `coefficients`
:math:`(\tau X, X \lambda^{-2}, c_1 \dots c_L, w_1 \dots w_L)` with :math:`c_l = \omega_l \beta_l^2` outside and
:math:`w_l = \chi_l \beta_l^2` inside the diffusivity (:math:`\chi_l = \omega_l` or 1; X belongs to the pixel spacing).
With the sums :math:`Q_l, P_l` of the adjoint divergence over all pixels and steps,

.. math:: \partial_{\log\tau} = -\tau X \sum_l c_l Q_l, \quad \partial_{\log\lambda} = 2 \tau X \sum_l w_l P_l, \quad
          \partial_{\beta_l} = -2 \tau X \beta_l (\omega_l Q_l + \chi_l P_l).
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# fmt: off

import triton
import triton.language as tl


@triton.jit
def total_kernel(sums, totals, count, stride, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    """Totals[r] = sum over steps and programs of sums[step, r, program]; one program per r."""
    row = sums + tl.program_id(0) * count
    lane = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(STEPS):
        for start in range(0, count, BLOCK):
            total += tl.load(row + k * stride + start + lane, mask=start + lane < count, other=0.0)
    tl.store(totals + tl.program_id(0), tl.sum(total))


@triton.jit
def adam_kernel(
    parameters, moments, clock, totals, omega, chi, coefficients, gradient, rate, X,
    SCALES: tl.constexpr, LANES: tl.constexpr,
):
    """One step of Adam (betas 0.9 and 0.999, eps 1e-8), then the new coefficients."""
    lane = tl.arange(0, LANES)
    of = tl.maximum(lane - 2, 0)
    used = lane < SCALES + 2
    scale = used & (lane >= 2)
    p = tl.load(parameters + lane, mask=used, other=0.0)
    outer = tl.load(omega + of, mask=scale, other=0.0)
    inner = tl.load(chi + of, mask=scale, other=0.0)
    by_outer = tl.load(totals + of, mask=scale, other=0.0)
    by_inner = tl.load(totals + SCALES + of, mask=scale, other=0.0)
    tau = tl.load(coefficients)
    beta2 = p * p
    by_tau = -tau * tl.sum(tl.where(scale, outer * beta2 * by_outer, 0.0))
    by_contrast = 2.0 * tau * tl.sum(tl.where(scale, inner * beta2 * by_inner, 0.0))
    by_beta = -2.0 * tau * p * (outer * by_outer + inner * by_inner)
    g = tl.where(lane == 0, by_tau, tl.where(lane == 1, by_contrast, by_beta))
    tl.store(gradient + lane, g, mask=used)

    time = tl.load(clock) + 1.0
    m = 0.9 * tl.load(moments + lane, mask=used, other=0.0) + 0.1 * g
    v = 0.999 * tl.load(moments + LANES + lane, mask=used, other=0.0) + 0.001 * g * g
    mean = m / (1.0 - tl.exp(time * -0.10536051565782628))
    spread = v / (1.0 - tl.exp(time * -0.0010005003335835335))
    p -= tl.load(rate) * mean / (tl.sqrt(spread) + 1e-8)
    tl.store(clock, time)
    tl.store(moments + lane, m, mask=used)
    tl.store(moments + LANES + lane, v, mask=used)
    tl.store(parameters + lane, p, mask=used)

    beta2 = p * p
    head = tl.where(lane == 0, X * tl.exp(p), X * tl.exp(-2.0 * p))
    tl.store(coefficients + lane, tl.where(lane < 2, head, outer * beta2), mask=used)
    tl.store(coefficients + SCALES + lane, inner * beta2, mask=scale)
