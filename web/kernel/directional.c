/* Derivatives along many directions: a 4x4 stencil of eight opposite pairs per direction, at the cell centres.
 *
 * The frame here is the image mirrored by three pixels, (H+6) x (W+6), with (H+3) x (W+3) cells. The mirror turns one
 * direction into another of the set, so that the sum over all directions of the transposed stencils, cropped to the
 * image, is the exact adjoint.
 */
#include "kernel.h"

/* The sum over eight pairs of w (far - near), for the type that AT reads: one pixel, or four at a time. */
#define PAIRS(AT, a, b, c, d, i, k0, k1, k2, k3)                                                          \
    (w[0] * (AT(a, (i) + k3) - AT(b, (i) + k0)) + w[1] * (AT(a, (i) + k2) - AT(b, (i) + k1)) +             \
     w[2] * (AT(a, (i) + k1) - AT(b, (i) + k2)) + w[3] * (AT(a, (i) + k0) - AT(b, (i) + k3)) +             \
     w[4] * (AT(c, (i) + k3) - AT(d, (i) + k0)) + w[5] * (AT(c, (i) + k2) - AT(d, (i) + k1)) +             \
     w[6] * (AT(c, (i) + k1) - AT(d, (i) + k2)) + w[7] * (AT(c, (i) + k0) - AT(d, (i) + k3)))
#define ONE(row, i) ((row)[i])
#define FOUR(row, i) (*(const quad *)((row) + (i)))

static void derivative(PLANE out, VIEW frame, int j, int columns, VIEW w) {
    const float *near0 = frame + j * columns, *near1 = near0 + columns, *far1 = near1 + columns, *far0 = far1 + columns;
    int i = 0;
    for (; i + 4 <= columns - 3; i += 4) *(quad *)(out + i) = PAIRS(FOUR, far0, near0, far1, near1, i, 0, 1, 2, 3);
    for (; i < columns - 3; ++i) out[i] = PAIRS(ONE, far0, near0, far1, near1, i, 0, 1, 2, 3);
}

/* v = g(inside (K seen)^2) K u for one direction, from frames of u and of what steers. `s2`: W + 3. */
void EXPORT(directional_flux)(PLANE v, const float *frame, const float *seen, PLANE s2, int H, int W, VIEW weights,
                              float inside, int law, int kind, float contrast) {
    const int cells = W + 3;
    for (int j = 0; j < H + 3; ++j) {
        float *restrict row = v + j * cells;
        derivative(row, frame, j, W + 6, weights);
        if (seen == frame) {
            for (int i = 0; i < cells; ++i) s2[i] = inside * (row[i] * row[i]);
        } else {
            derivative(s2, seen, j, W + 6, weights);
            for (int i = 0; i < cells; ++i) s2[i] = inside * (s2[i] * s2[i]);
        }
        diffusion_tensor(s2, 0, 0, cells, law, kind, contrast);
        for (int i = 0; i < cells; ++i) row[i] *= s2[i];
    }
}

/* out += the transpose of the derivative, cropped to the image: the same sum, read backwards. */
void EXPORT(directional_adjoint)(PLANE out, VIEW v, int H, int W, VIEW w) {
    const int cells = W + 3;
    for (int y = 0; y < H; ++y) {
        const float *far0 = v + y * cells, *far1 = far0 + cells, *near1 = far1 + cells, *near0 = near1 + cells;
        float *restrict image = out + y * W;
        int x = 0;
        for (; x + 4 <= W; x += 4) *(quad *)(image + x) += PAIRS(FOUR, far0, near0, far1, near1, x, 3, 2, 1, 0);
        for (; x < W; ++x) image[x] += PAIRS(ONE, far0, near0, far1, near1, x, 3, 2, 1, 0);
    }
}
