/* The one Gaussian of the library: sampled, normalised, cut at `radius`, half-sample mirror, y before x.
 *
 * The taps arrive from the page: weights[0] is the centre, weights[k] belongs to both -k and +k. They are added in this
 * fixed order, as in Python, so that float32 results agree to the last bits. Sixteen pixels at a time stay in registers
 * while all taps pass over them.
 */
#include "kernel.h"

enum { QUADS = 4, BLOCK = 4 * QUADS, LARGEST = 256 };

/* out[x] = w_0 row[x] + w_1 (before_1[x] + after_1[x]) + ..., x < count */
static void weighted(PLANE out, VIEW row, const float *const *before, const float *const *after, VIEW w, int radius,
                     int count) {
    int x = 0;
    for (; x + BLOCK <= count; x += BLOCK) {
        quad sum[QUADS];
        for (int n = 0; n < QUADS; ++n) sum[n] = w[0] * *(const quad *)(row + x + 4 * n);
        for (int k = 1; k <= radius; ++k)
            for (int n = 0; n < QUADS; ++n)
                sum[n] += w[k] * (*(const quad *)(before[k] + x + 4 * n) + *(const quad *)(after[k] + x + 4 * n));
        for (int n = 0; n < QUADS; ++n) *(quad *)(out + x + 4 * n) = sum[n];
    }
    for (; x < count; ++x) {
        float sum = w[0] * row[x];
        for (int k = 1; k <= radius; ++k) sum += w[k] * (before[k][x] + after[k][x]);
        out[x] = sum;
    }
}

/* Index of a mirrored cell and sign^(number of borders between it and the field); n >= 2. */
static inline int reflect(int i, int n, float sign, float *turned) {
    const int period = 2 * (n - 1);
    const int whole = i >= 0 ? i / period : -((period - 1 - i) / period);
    i -= whole * period;
    *turned = i < n ? 1.0f : sign; /* a whole period crosses two borders */
    return i < n ? i : period - i;
}

/* The largest radius there is room for. */
int EXPORT(largest_radius)(void) { return LARGEST; }

/* frame = a field on n_y x n_x cells, continued by `radius` on each side. The border of the image lies in the middle of
 * the outermost cells, so that these are not repeated: c b | a b c | b a. Products of derivatives along two axes change
 * their sign with every border crossed: sign = -1. */
void EXPORT(extend_cells)(PLANE frame, VIEW field, int n_y, int n_x, int radius, float sign) {
    const int wide = n_x + 2 * radius;
    for (int y = -radius; y < n_y + radius; ++y) {
        float turned_y, turned_x;
        const float *row = field + reflect(y, n_y, sign, &turned_y) * n_x;
        float *out = frame + (y + radius) * wide + radius;
        for (int x = 0; x < n_x; ++x) out[x] = turned_y * row[x];
        for (int k = 1; k <= radius; ++k) {
            const int left = reflect(-k, n_x, sign, &turned_x);
            out[-k] = turned_y * turned_x * row[left];
            const int right = reflect(n_x - 1 + k, n_x, sign, &turned_x);
            out[n_x - 1 + k] = turned_y * turned_x * row[right];
        }
    }
}

/* out = the smoothed field, from its continued frame. `column`: n_x + 2 radius. */
void EXPORT(smooth_cells)(PLANE out, VIEW frame, PLANE column, int n_y, int n_x, VIEW weights, int radius) {
    const float *before[LARGEST + 1], *after[LARGEST + 1], *left[LARGEST + 1], *right[LARGEST + 1];
    const int wide = n_x + 2 * radius;
    for (int k = 1; k <= radius; ++k) {
        left[k] = column + radius - k;
        right[k] = column + radius + k;
    }
    for (int y = 0; y < n_y; ++y) {
        const float *row = frame + (y + radius) * wide;
        for (int k = 1; k <= radius; ++k) {
            before[k] = row - k * wide;
            after[k] = row + k * wide;
        }
        weighted(column, row, before, after, weights, radius, wide);
        weighted(out + y * n_x, column + radius, left, right, weights, radius, n_x);
    }
}

/* out = G u, or out += factor G u where the factor is not 0. `column`: 2 W + 2 radius. `out` and `u` differ. */
void EXPORT(smooth)(PLANE out, VIEW u, PLANE column, int H, int W, VIEW weights, int radius, float factor) {
    const float *before[LARGEST + 1], *after[LARGEST + 1], *left[LARGEST + 1], *right[LARGEST + 1];
    float *row = column + radius, *sum = row + W + radius;
    for (int k = 1; k <= radius; ++k) {
        left[k] = row - k;
        right[k] = row + k;
    }
    for (int y = 0; y < H; ++y) {
        for (int k = 1; k <= radius; ++k) {
            before[k] = u + mirror(y - k, H) * W;
            after[k] = u + mirror(y + k, H) * W;
        }
        weighted(row, u + y * W, before, after, weights, radius, W);
        for (int k = 1; k <= radius; ++k) {
            row[-k] = row[mirror(-k, W)];
            row[W - 1 + k] = row[mirror(W - 1 + k, W)];
        }
        if (factor == 0.0f) {
            weighted(out + y * W, row, left, right, weights, radius, W);
        } else {
            weighted(sum, row, left, right, weights, radius, W);
            for (int x = 0; x < W; ++x) out[y * W + x] += factor * sum[x];
        }
    }
}
