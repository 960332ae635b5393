/* Derivatives along many directions: a 4x4 stencil of eight opposite pairs per direction, at the cell centres.
 *
 * The frame here is the image mirrored by three pixels, (H+6) x (W+6), with (H+3) x (W+3) cells. The mirror turns one
 * direction into another of the set, so that the sum over all directions of the transposed stencils, cropped to the
 * image, is the exact adjoint. Row by row: the differences of the pairs are the same for all directions.
 */
#include "kernel.h"

enum { PAIRS = 8, ROWS = 4 };

#define AT(row, i) (*(const quad *)((row) + (i)))

/* far - near for the eight pairs around each cell of row j, in rows of `pitch`. */
static void differences(PLANE D, VIEW frame, int j, int columns, int pitch) {
    const float *near0 = frame + j * columns, *near1 = near0 + columns, *far1 = near1 + columns, *far0 = far1 + columns;
    for (int k = 0; k < PAIRS / 2; ++k)
        for (int i = 0; i < columns - 3; ++i) {
            D[k * pitch + i] = far0[i + 3 - k] - near0[i + k];
            D[(k + PAIRS / 2) * pitch + i] = far1[i + 3 - k] - near1[i + k];
        }
}

/* The derivative along one direction: the differences with its weights. */
static void weighted(PLANE out, VIEW D, int n, int pitch, VIEW w) {
    for (int i = 0; i < n; i += 4) {
        quad sum = w[0] * AT(D, i);
        for (int k = 1; k < PAIRS; ++k) sum += w[k] * AT(D, k * pitch + i);
        *(quad *)(out + i) = sum;
    }
}

/* out += the transpose of the derivative: the same sum, read backwards, from four rows of cells. */
static void add_transpose(PLANE out, const float *const rows[ROWS], int n, VIEW w) {
    const float *far0 = rows[0], *far1 = rows[1], *near1 = rows[2], *near0 = rows[3];
    for (int x = 0; x < n; x += 4) {
        quad sum = w[0] * (AT(far0, x) - AT(near0, x + 3));
        for (int k = 1; k < ROWS; ++k) sum += w[k] * (AT(far0, x + k) - AT(near0, x + 3 - k));
        for (int k = 0; k < ROWS; ++k) sum += w[ROWS + k] * (AT(far1, x + k) - AT(near1, x + 3 - k));
        *(quad *)(out + x) = AT(out, x) + sum;
    }
}

/* How many numbers the rows of `directional_step` take. */
int EXPORT(directional_room)(int count, int W) { return (2 * PAIRS + ROWS * count + 2) * (W + 8); }

/* u -= tau times the sum over all directions of K^T (g(inside (K seen)^2) K u), from frames of u and of what steers. */
void EXPORT(directional_step)(PLANE u, const float *frame, const float *seen, PLANE rows, int H, int W, VIEW weights,
                              int count, float inside, int law, int kind, float contrast, float tau) {
    const int cells = W + 3, pitch = W + 8; /* four pixels at a time may go beyond the end of a row */
    float *D = rows, *E = D + PAIRS * pitch, *s2 = E + PAIRS * pitch, *sum = s2 + pitch, *v = sum + pitch;
    for (int j = 0; j < H + 3; ++j) {
        differences(D, frame, j, W + 6, pitch);
        if (seen != frame) differences(E, seen, j, W + 6, pitch);
        for (int d = 0; d < count; ++d) {
            float *row = v + (ROWS * d + j % ROWS) * pitch;
            weighted(row, D, cells, pitch, weights + PAIRS * d);
            if (seen != frame) weighted(s2, E, cells, pitch, weights + PAIRS * d);
            const float *from = seen != frame ? s2 : row;
            for (int i = 0; i < cells; ++i) s2[i] = inside * (from[i] * from[i]);
            diffusion_tensor(s2, 0, 0, cells, law, kind, contrast);
            for (int i = 0; i < cells; ++i) row[i] *= s2[i];
        }
        if (j < ROWS - 1) continue;
        const int y = j - (ROWS - 1);
        for (int x = 0; x < W; ++x) sum[x] = 0.0f;
        for (int d = 0; d < count; ++d) {
            const float *near[ROWS];
            for (int k = 0; k < ROWS; ++k) near[k] = v + (ROWS * d + (y + k) % ROWS) * pitch;
            add_transpose(sum, near, W, weights + PAIRS * d);
        }
        for (int x = 0; x < W; ++x) u[y * W + x] -= tau * sum[x];
    }
}
