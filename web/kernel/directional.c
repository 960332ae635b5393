/* Derivatives along many directions: a 4x4 stencil of eight opposite pairs per direction, at the cell centres.
 *
 * The frame here is the image mirrored by three pixels, (H+6) x (W+6), with (H+3) x (W+3) cells. The mirror turns one
 * direction into another of the set, so that the sum over all directions of the transposed stencils, cropped to the
 * image, is the exact adjoint.
 */
#include "kernel.h"

enum { PAIRS = 8, ROWS = 2, COLUMNS = 4 };

/* v = sum over pairs of w (far - near), on (rows-3) x (columns-3) cells. */
void EXPORT(directional)(PLANE v, VIEW frame, int rows, int columns, VIEW weights) {
    const int cells = columns - 3;
    for (int j = 0; j < rows - 3; ++j) {
        float *restrict out = v + j * cells;
        for (int i = 0; i < cells; ++i) out[i] = 0.0f;
        for (int pair = 0; pair < PAIRS; ++pair) {
            const int row = pair / COLUMNS, column = pair % COLUMNS;
            const float *far = frame + (j + 3 - row) * columns + 3 - column;
            const float *near = frame + (j + row) * columns + column;
            const float w = weights[pair];
            for (int i = 0; i < cells; ++i) out[i] += w * (far[i] - near[i]);
        }
    }
}

/* out += the transpose of the above, cropped to the image. */
void EXPORT(directional_adjoint)(PLANE out, VIEW v, int H, int W, VIEW weights) {
    const int cells = W + 3;
    for (int y = 0; y < H; ++y) {
        float *restrict image = out + y * W;
        for (int pair = 0; pair < PAIRS; ++pair) {
            const int row = pair / COLUMNS, column = pair % COLUMNS;
            const float *far = v + (y + row) * cells + column;
            const float *near = v + (y + 3 - row) * cells + 3 - column;
            const float w = weights[pair];
            for (int x = 0; x < W; ++x) image[x] += w * (far[x] - near[x]);
        }
    }
}

/* frame = image mirrored by three pixels, for any size. */
void EXPORT(extend_wide)(PLANE frame, VIEW u, int H, int W) {
    for (int y = -3; y < H + 3; ++y) {
        const float *row = u + mirror(y, H) * W;
        float *out = frame + (y + 3) * (W + 6) + 3;
        for (int x = 0; x < W; ++x) out[x] = row[x];
        for (int x = 1; x <= 3; ++x) {
            out[-x] = row[mirror(-x, W)];
            out[W - 1 + x] = row[mirror(W - 1 + x, W)];
        }
    }
}
