/* First derivatives on 2x2 cells. In a cell with pixels u00 u10 / u01 u11 (first index = x):
 *
 *   p = (u10 - u00 + u11 - u01) / 2     x-derivative at the cell centre
 *   q = (u01 - u00 + u11 - u10) / 2     y-derivative at the cell centre
 *   r = (u11 - u10 - u01 + u00) / 2     the remaining Haar detail
 *
 * -div(D grad u) = K^T (a p + b q, b p + c q, mu r),  mu = (1 - 2 alpha) (a + c - 2 gamma |b|),  D = [[a, b], [b, c]].
 *
 * Everything goes row by row: what a row of cells needs stays in the fastest memory, and an image is read once a step.
 */
#include "kernel.h"

/* p, q, r in row j of the cells. Across the border the mirror image continues, so that differences across vanish. */
static void differences(PLANE p, PLANE q, PLANE r, VIEW u, int j, int H, int W) {
    const float *up = u + (j > 0 ? j - 1 : 0) * W, *down = u + (j < H ? j : H - 1) * W;
    p[0] = r[0] = p[W] = r[W] = 0.0f;
    q[0] = down[0] - up[0];
    q[W] = down[W - 1] - up[W - 1];
    for (int i = 1; i < W; ++i) {
        const float u00 = up[i - 1], u10 = up[i], u01 = down[i - 1], u11 = down[i];
        const float top = u10 - u00, bottom = u11 - u01;
        p[i] = 0.5f * (top + bottom);
        r[i] = 0.5f * (bottom - top);
        q[i] = 0.5f * ((u01 - u00) + (u11 - u10));
    }
}

/* J += weight * [[p^2 + e r^2, p q], [p q, q^2 + e r^2]], e = 1 - 2 alpha; the first one is not added to anything. */
static void add_structure(PLANE J11, PLANE J12, PLANE J22, VIEW p, VIEW q, VIEW r, int n, float e, float weight, int first) {
    if (first) {
        for (int i = 0; i < n; ++i) {
            const float rest = e * (r[i] * r[i]);
            J11[i] = weight * (p[i] * p[i] + rest);
            J12[i] = weight * (p[i] * q[i]);
            J22[i] = weight * (q[i] * q[i] + rest);
        }
    } else {
        for (int i = 0; i < n; ++i) {
            const float rest = e * (r[i] * r[i]);
            J11[i] += weight * (p[i] * p[i] + rest);
            J12[i] += weight * (p[i] * q[i]);
            J22[i] += weight * (q[i] * q[i] + rest);
        }
    }
}

/* (p, q, r) becomes the flux (a p + b q, b p + c q, mu r). */
static void flux(PLANE p, PLANE q, PLANE r, VIEW a, VIEW b, VIEW c, int n, float e, float gamma) {
    for (int i = 0; i < n; ++i) {
        const float x = p[i], y = q[i];
        p[i] = a[i] * x + b[i] * y;
        q[i] = b[i] * x + c[i] * y;
        r[i] = e * (a[i] + c[i] - 2.0f * gamma * __builtin_fabsf(b[i])) * r[i];
    }
}

/* K^T of the fluxes in the rows above and below: pixel x is u11 and u01 of the two cells above it, u10 and u00 below. */
static inline float gathered(VIEW above, VIEW below, int cells, int x) {
    const float *P0 = above, *Q0 = P0 + cells, *R0 = Q0 + cells, *P = below, *Q = P + cells, *R = Q + cells;
    const float up = (P0[x] + Q0[x] + R0[x]) + (Q0[x + 1] - P0[x + 1] - R0[x + 1]);
    const float down = (P[x] - Q[x] - R[x]) + (R[x + 1] - P[x + 1] - Q[x + 1]);
    return 0.5f * (up + down);
}

/* J, or with a law D, of `count` planes that lie one behind the other, each with its weight. `rows`: 3 (W + 1). */
void EXPORT(structure)(PLANE J11, PLANE J12, PLANE J22, VIEW planes, VIEW weights, int count, PLANE rows, int H, int W,
                       float alpha) {
    const int cells = W + 1;
    float *restrict p = rows, *restrict q = p + cells, *restrict r = q + cells;
    for (int j = 0; j <= H; ++j)
        for (int k = 0; k < count; ++k) {
            differences(p, q, r, planes + k * H * W, j, H, W);
            add_structure(J11 + j * cells, J12 + j * cells, J22 + j * cells, p, q, r, cells, 1.0f - 2.0f * alpha,
                          weights[k], k == 0);
        }
}

/* out = K^T D K u for a diffusion tensor in three planes. `rows`: 6 (W + 1). */
void EXPORT(minus_divergence)(PLANE out, VIEW u, VIEW a, VIEW b, VIEW c, PLANE rows, int H, int W, float alpha,
                              float gamma) {
    const int cells = W + 1;
    for (int j = 0; j <= H; ++j) {
        float *restrict here = rows + (j & 1) * 3 * cells, *restrict q = here + cells, *restrict r = q + cells;
        differences(here, q, r, u, j, H, W);
        flux(here, q, r, a + j * cells, b + j * cells, c + j * cells, cells, 1.0f - 2.0f * alpha, gamma);
        if (j == 0) continue;
        const float *above = rows + (~j & 1) * 3 * cells;
        for (int x = 0; x < W; ++x) out[(j - 1) * W + x] = gathered(above, here, cells, x);
    }
}

/* out = u - tau K^T D K u for C coupled channels, all in one pass: D comes from the channels of `seen`, with their own
 * alpha, or from u itself where `seen` is u. `rows`: (6 C + 6) (W + 1). */
void EXPORT(step)(PLANE out, const float *u, const float *seen, PLANE rows, int C, int H, int W, float alpha,
                  float seen_alpha, float gamma, int law, int kind, float contrast, float tau) {
    const int cells = W + 1;
    const float e = 1.0f - 2.0f * alpha;
    float *restrict J = rows + 6 * C * cells, *restrict other = J + 3 * cells;
    for (int j = 0; j <= H; ++j) {
        for (int c = 0; c < C; ++c) {
            float *p = rows + (6 * c + 3 * (j & 1)) * cells;
            differences(p, p + cells, p + 2 * cells, u + c * H * W, j, H, W);
            if (seen != u) {
                differences(other, other + cells, other + 2 * cells, seen + c * H * W, j, H, W);
                p = other;
            }
            add_structure(J, J + cells, J + 2 * cells, p, p + cells, p + 2 * cells, cells, 1.0f - 2.0f * seen_alpha, 1.0f,
                          c == 0);
        }
        diffusion_tensor(J, J + cells, J + 2 * cells, cells, law, kind, contrast);
        for (int c = 0; c < C; ++c) {
            float *here = rows + (6 * c + 3 * (j & 1)) * cells;
            flux(here, here + cells, here + 2 * cells, J, J + cells, J + 2 * cells, cells, e, gamma);
            if (j == 0) continue;
            const float *above = rows + (6 * c + 3 * (~j & 1)) * cells;
            const float *restrict from = u + (c * H + j - 1) * W;
            float *restrict to = out + (c * H + j - 1) * W;
            for (int x = 0; x < W; ++x) to[x] = from[x] - tau * gathered(above, here, cells, x);
        }
    }
}
