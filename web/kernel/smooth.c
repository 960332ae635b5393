/* The one Gaussian of the library: sampled, normalised, cut at `radius`, half-sample mirror, y before x.
 *
 * The taps arrive from the page: weights[0] is the centre, weights[k] belongs to both -k and +k. They are added in this
 * fixed order, as in Python, so that float32 results agree to the last bits.
 */
#include "kernel.h"

static void add_pair(PLANE out, VIEW before, VIEW after, float weight, int count) {
    for (int x = 0; x < count; ++x) out[x] += weight * (before[x] + after[x]);
}

static void scale(PLANE out, VIEW in, float weight, int count) {
    for (int x = 0; x < count; ++x) out[x] = weight * in[x];
}

/* out = G u. `column` holds W + 2 * radius floats. `out` and `u` differ. */
void EXPORT(smooth)(PLANE out, VIEW u, PLANE column, int H, int W, VIEW weights, int radius) {
    for (int y = 0; y < H; ++y) {
        float *row = column + radius;
        scale(row, u + y * W, weights[0], W);
        for (int k = 1; k <= radius; ++k)
            add_pair(row, u + mirror(y - k, H) * W, u + mirror(y + k, H) * W, weights[k], W);
        for (int k = 1; k <= radius; ++k) {
            row[-k] = row[mirror(-k, W)];
            row[W - 1 + k] = row[mirror(W - 1 + k, W)];
        }
        scale(out + y * W, row, weights[0], W);
        for (int k = 1; k <= radius; ++k) add_pair(out + y * W, row - k, row + k, weights[k], W);
    }
}
