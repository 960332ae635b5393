/* The one Gaussian of the library: sampled, normalised, cut at `radius`, half-sample mirror, y before x.
 *
 * The taps arrive from the page: weights[0] is the centre, weights[k] belongs to both -k and +k. They are added in this
 * fixed order, as in Python, so that float32 results agree to the last bits. Sixteen pixels at a time stay in registers
 * while all taps pass over them.
 */
#include "kernel.h"

enum { QUADS = 4, BLOCK = 4 * QUADS, LARGEST = 256 };

/* out[x] = w_0 row[x] + w_1 (row[x - stride] + row[x + stride]) + ..., x < count */
static void weighted(PLANE out, const float *row, int stride, VIEW w, int radius, int count) {
    int x = 0;
    for (; x + BLOCK <= count; x += BLOCK) {
        const float *before = row + x, *after = before;
        quad sum[QUADS];
        for (int n = 0; n < QUADS; ++n) sum[n] = w[0] * AT(before, 4 * n);
        for (int k = 1; k <= radius; ++k) {
            before -= stride;
            after += stride;
            for (int n = 0; n < QUADS; ++n) sum[n] += w[k] * (AT(before, 4 * n) + AT(after, 4 * n));
        }
        for (int n = 0; n < QUADS; ++n) PUT(out, x + 4 * n) = sum[n];
    }
    for (; x < count; x += 4) {
        quad sum = w[0] * AT(row, x);
        for (int k = 1; k <= radius; ++k) sum += w[k] * (AT(row, x - k * stride) + AT(row, x + k * stride));
        put(out, x, count, sum);
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

/* out = the smoothed field on n_y x n_x cells, which has `radius` rows of room before and behind it. The border of the
 * image lies in the middle of the outermost cells, so that these are not repeated: c b | a b c | b a. Products of
 * derivatives along two axes change their sign with every border crossed: sign = -1. `column`: n_x + 2 radius. */
void EXPORT(smooth_cells)(PLANE out, float *field, PLANE column, int n_y, int n_x, VIEW weights, int radius, float sign) {
    float *row = column + radius, turned;
    for (int k = 1; k <= radius; ++k)
        for (int side = 0; side < 2; ++side) {
            const int y = side ? n_y - 1 + k : -k;
            const float *from = field + reflect(y, n_y, sign, &turned) * n_x;
            for (int x = 0; x < n_x; ++x) field[y * n_x + x] = turned * from[x];
        }
    for (int y = 0; y < n_y; ++y) {
        weighted(row, field + y * n_x, n_x, weights, radius, n_x);
        for (int k = 1; k <= radius; ++k) {
            const int first = reflect(-k, n_x, sign, &turned);
            row[-k] = turned * row[first];
            const int last = reflect(n_x - 1 + k, n_x, sign, &turned);
            row[n_x - 1 + k] = turned * row[last];
        }
        weighted(out + y * n_x, row, 1, weights, radius, n_x);
    }
}

/* How many numbers the rows of `smooth` take. */
int EXPORT(smooth_room)(int W, int radius) { return (3 * radius + 2) * W + 2 * radius; }

/* out = G u, or out += factor G u where the factor is not 0; `out` and `u` differ. Near the upper and the lower border rows
 * come from a copy that continues the image by its mirror. */
void EXPORT(smooth)(PLANE out, VIEW u, PLANE rows, int H, int W, VIEW weights, int radius, float factor) {
    float *row = rows + radius, *sum = row + W + radius, *copy = sum + W;
    const int top = radius < H ? radius : H, bottom = H - radius > top ? H - radius : top, ends[] = { 0, top, bottom, H };
    for (int part = 0; part < 3; ++part) {
        const float *from = u;
        if (part != 1) {
            for (int y = ends[part] - radius, k = 0; y < ends[part + 1] + radius; ++y, ++k)
                for (int x = 0; x < W; ++x) copy[k * W + x] = u[mirror(y, H) * W + x];
            from = copy - (ends[part] - radius) * W;
        }
        for (int y = ends[part]; y < ends[part + 1]; ++y) {
            weighted(row, from + y * W, W, weights, radius, W);
            for (int k = 1; k <= radius; ++k) {
                row[-k] = row[mirror(-k, W)];
                row[W - 1 + k] = row[mirror(W - 1 + k, W)];
            }
            weighted(factor == 0.0f ? out + y * W : sum, row, 1, weights, radius, W);
            for (int x = 0; factor != 0.0f && x < W; ++x) out[y * W + x] += factor * sum[x];
        }
    }
}
