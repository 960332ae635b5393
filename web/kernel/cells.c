/* First derivatives on 2x2 cells. In a cell with pixels u00 u10 / u01 u11 (first index = x):
 *
 *   p = (u10 - u00 + u11 - u01) / 2     x-derivative at the cell centre
 *   q = (u01 - u00 + u11 - u10) / 2     y-derivative at the cell centre
 *   r = (u11 - u10 - u01 + u00) / 2     the remaining Haar detail
 *
 * -div(D grad u) = K^T (a p + b q, b p + c q, mu r),  mu = (1 - 2 alpha) (a + c - 2 gamma |b|),  D = [[a, b], [b, c]].
 */
#include "kernel.h"

/* frame = image with its half-sample mirror around it. */
void EXPORT(extend)(PLANE frame, VIEW u, int H, int W) {
    for (int y = -1; y <= H; ++y) {
        const float *row = u + (y < 0 ? 0 : y < H ? y : H - 1) * W;
        float *out = frame + (y + 1) * (W + 2);
        out[0] = row[0];
        for (int x = 0; x < W; ++x) out[x + 1] = row[x];
        out[W + 1] = row[W - 1];
    }
}

/* J += weight * [[p^2 + e r^2, p q], [p q, q^2 + e r^2]] in every cell, e = 1 - 2 alpha. */
void EXPORT(structure)(PLANE J11, PLANE J12, PLANE J22, VIEW frame, int H, int W, float alpha, float weight) {
    const float e = 1.0f - 2.0f * alpha;
    for (int j = 0; j <= H; ++j) {
        const float *up = frame + j * (W + 2), *down = up + W + 2;
        const int base = j * (W + 1);
        for (int i = 0; i <= W; ++i) {
            const float u00 = up[i], u10 = up[i + 1], u01 = down[i], u11 = down[i + 1];
            const float top = u10 - u00, bottom = u11 - u01;
            const float p = 0.5f * (top + bottom), r = 0.5f * (bottom - top);
            const float q = 0.5f * ((u01 - u00) + (u11 - u10));
            const float rest = e * (r * r);
            J11[base + i] += weight * (p * p + rest);
            J12[base + i] += weight * (p * q);
            J22[base + i] += weight * (q * q + rest);
        }
    }
}

/* out = K^T (a p + b q, b p + c q, mu r), one image row at a time; `rows` holds 6 * (W + 1) floats. */
void EXPORT(minus_divergence)(PLANE out, VIEW frame, VIEW a, VIEW b, VIEW c, PLANE rows, int H, int W, float alpha,
                              float gamma) {
    const float e = 1.0f - 2.0f * alpha;
    const int cells = W + 1;
    for (int j = 0; j <= H; ++j) {
        const float *up = frame + j * (W + 2), *down = up + W + 2;
        const int base = j * cells;
        float *restrict P = rows + (j & 1) * 3 * cells, *restrict Q = P + cells, *restrict R = Q + cells;
        for (int i = 0; i <= W; ++i) {
            const float u00 = up[i], u10 = up[i + 1], u01 = down[i], u11 = down[i + 1];
            const float top = u10 - u00, bottom = u11 - u01;
            const float p = 0.5f * (top + bottom), r = 0.5f * (bottom - top);
            const float q = 0.5f * ((u01 - u00) + (u11 - u10));
            const float A = a[base + i], B = b[base + i], C = c[base + i];
            P[i] = A * p + B * q;
            Q[i] = B * p + C * q;
            R[i] = e * (A + C - 2.0f * gamma * __builtin_fabsf(B)) * r;
        }
        if (j == 0) continue;
        /* Pixel (y, x) is u11 and u01 of the two cells above it, u10 and u00 of the two below. */
        const float *P0 = rows + (~j & 1) * 3 * cells, *Q0 = P0 + cells, *R0 = Q0 + cells;
        float *restrict row = out + (j - 1) * W;
        for (int x = 0; x < W; ++x) {
            const float above = (P0[x] + Q0[x] + R0[x]) + (Q0[x + 1] - P0[x + 1] - R0[x + 1]);
            const float below = (P[x] - Q[x] - R[x]) + (R[x + 1] - P[x + 1] - Q[x + 1]);
            row[x] = 0.5f * (above + below);
        }
    }
}
