/* The one Gaussian of the library: sampled, normalised, cut at `radius`, mirrored at the border, y before x.
 *
 * The taps arrive from the page: weights[0] is the centre, weights[k] belongs to both -k and +k. They are added in this
 * fixed order, as in Python, so that float32 results agree to the last bits.
 *
 * Wide Gaussians take eight rows at a time: smoothed along y and turned over, so that columns lie one behind the other as
 * rows did, smoothed again by the same function, and turned back. Two neighbouring lines need nearly the same lines around
 * them: each is read once for both. For narrow ones turning over does not pay. Both give the same bits.
 */
#include "kernel.h"

enum {
    STRIP = 8,    /* rows at a time */
    WIDE = 8,     /* the least radius that is wide */
    BLOCK = 16,   /* pixels of a row that are summed up together */
    LARGEST = 256 /* radius there is room for */
};

/* Eight pixels of lines 0 and 1, of those that lie `stride` apart: w_0 line(0) + w_1 (line(-1) + line(1)) + ... */
INLINE void two_lines(float out[2][STRIP], const float *line, int stride, VIEW w, int radius) {
    const float *up = line, *down = line + stride;
    quad before[2] = { AT(up, 0), AT(up, 4) }, after[2] = { AT(down, 0), AT(down, 4) };
    quad sum0[2] = { w[0] * before[0], w[0] * before[1] }, sum1[2] = { w[0] * after[0], w[0] * after[1] };
    for (int k = 1; k <= radius; ++k) {
        up -= stride;
        down += stride;
        const quad above[2] = { AT(up, 0), AT(up, 4) }, below[2] = { AT(down, 0), AT(down, 4) };
        for (int n = 0; n < 2; ++n) {
            sum0[n] += w[k] * (above[n] + after[n]);
            sum1[n] += w[k] * (before[n] + below[n]);
            before[n] = above[n];
            after[n] = below[n];
        }
    }
    for (int n = 0; n < 2; ++n) PUT(out[0], 4 * n) = sum0[n], PUT(out[1], 4 * n) = sum1[n];
}

/* Pixels at, ..., at + 3 of four lines become four lines. */
INLINE void turn_over(quad v[4], float lines[4][STRIP], int at) {
    const quad p = AT(lines[0], at), q = AT(lines[1], at), r = AT(lines[2], at), s = AT(lines[3], at);
    const quad a = __builtin_shufflevector(p, q, 0, 4, 1, 5), b = __builtin_shufflevector(r, s, 0, 4, 1, 5);
    const quad c = __builtin_shufflevector(p, q, 2, 6, 3, 7), d = __builtin_shufflevector(r, s, 2, 6, 3, 7);
    v[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    v[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    v[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
    v[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

/* out[x] = w_0 row[x] + w_1 (row[x - stride] + row[x + stride]) + ... */
static void one_line(PLANE out, const float *row, int stride, VIEW w, int radius, int count) {
    int x = 0;
    for (; x + BLOCK <= count; x += BLOCK) {
        const float *before = row + x, *after = before;
        quad sum[4];
        for (int n = 0; n < 4; ++n) sum[n] = w[0] * AT(before, 4 * n);
        for (int k = 1; k <= radius; ++k) {
            before -= stride;
            after += stride;
            for (int n = 0; n < 4; ++n) sum[n] += w[k] * (AT(before, 4 * n) + AT(after, 4 * n));
        }
        for (int n = 0; n < 4; ++n) PUT(out, x + 4 * n) = sum[n];
    }
    for (; x < count; x += 4) {
        quad sum = w[0] * AT(row, x);
        for (int k = 1; k <= radius; ++k) sum += w[k] * (AT(row, x - k * stride) + AT(row, x + k * stride));
        put(out, x, count, sum);
    }
}

/* The line that continues a field of n lines at i, and what it is multiplied by. `parity` 0: pixels of an image, whose
 * mirror image begins at the border, b a | a b. 1 or -1: cells, of which the outermost have the border in their middle and
 * are not repeated, c b | a b c; products of derivatives along two axes change their sign with every border: -1. */
static int continued(int i, int n, int parity, float *turned) {
    *turned = 1.0f;
    if (parity == 0) return mirror(i, n);
    const int period = 2 * (n - 1), rest = ((i % period) + period) % period; /* a whole period crosses two borders */
    if (rest < n) return rest;
    *turned = (float)parity;
    return period - rest;
}

int EXPORT(largest_radius)(void) { return LARGEST; }

static inline int pitch_of(int W) { return (W + BLOCK - 1) & ~(BLOCK - 1); }

/* How many numbers the rows of `smooth` take. */
int EXPORT(smooth_room)(int W, int radius) {
    return STRIP * (pitch_of(W) + 2 * radius + STRIP) + (STRIP + 2 * radius) * W + BLOCK;
}

/* What is written to `out`, or added to it. */
INLINE quad result(const float *to, quad v, float factor) { return factor == 0.0f ? v : AT(to, 0) + factor * v; }

/* So many rows, each for itself, from those at `from`. */
static void narrow(float *out, VIEW from, float *room, int count, int W, VIEW weights, int radius, float factor, int parity) {
    float *row = room + radius, *sum = row + pitch_of(W) + radius, turned;
    for (int k = 0; k < count; ++k) {
        float *to = out + k * W;
        one_line(row, from + k * W, W, weights, radius, W);
        for (int side = 0; side < 2; ++side)
            for (int n = 1; n <= radius; ++n) {
                const int x = side ? W - 1 + n : -n, as = continued(x, W, parity, &turned);
                row[x] = turned * row[as];
            }
        one_line(factor == 0.0f ? to : sum, row, 1, weights, radius, W);
        for (int x = 0; factor != 0.0f && x < W; ++x) to[x] += factor * sum[x];
    }
}

/* The same for a strip of rows together. */
static void wide(float *out, VIEW from, float *room, int count, int W, VIEW weights, int radius, float factor, int parity) {
    float *columns = room + STRIP * radius, turned;
    quad v[4];
    for (int x = 0; x < W; x += STRIP) {
        float lines[STRIP][STRIP];
        for (int k = 0; k < STRIP; k += 2) two_lines(lines + k, from + k * W + x, W, weights, radius);
        for (int k = 0; k < STRIP; k += 4)
            for (int at = 0; at < STRIP; at += 4) {
                turn_over(v, lines + k, at);
                for (int n = 0; n < 4; ++n) PUT(columns, (x + at + n) * STRIP + k) = v[n];
            }
    }
    for (int side = 0; side < 2; ++side)
        for (int k = 1; k <= radius; ++k) {
            const int x = side ? W - 1 + k : -k, as = continued(x, W, parity, &turned);
            for (int n = 0; n < STRIP; n += 4) PUT(columns, x * STRIP + n) = turned * AT(columns, as * STRIP + n);
        }
    for (int x = 0; x < W; x += 4) {
        float lines[4][STRIP];
        for (int k = 0; k < 4; k += 2) two_lines(lines + k, columns + (x + k) * STRIP, STRIP, weights, radius);
        for (int k = 0; k < STRIP; k += 4) {
            turn_over(v, lines, k);
            float *to = out + k * W + x;
            if (x + 4 <= W && k + 4 <= count) {
                for (int n = 0; n < 4; ++n) PUT(to, n * W) = result(to + n * W, v[n], factor);
            } else {
                for (int n = 0; n < 4 && k + n < count; ++n) put(to + n * W, 0, W - x, result(to + n * W, v[n], factor));
            }
        }
    }
}

/* out = G u, or out += factor G u where the factor is not 0, in the rows first, ..., last - 1; `out` and `u` differ. */
void EXPORT(smooth)(PLANE out, VIEW u, PLANE rows, int H, int W, VIEW weights, int radius, float factor, int parity,
                    int first, int last) {
    float *copy = rows + STRIP * (pitch_of(W) + 2 * radius + STRIP), turned;
    for (int y = first; y < last; y += STRIP) {
        const int count = y + STRIP < last ? STRIP : last - y;
        const float *from = u + y * W;
        if (y < radius || y + STRIP + radius > H) { /* beyond the border a copy continues the field by its mirror image */
            for (int k = 0; k < STRIP + 2 * radius; ++k) {
                const float *row = u + continued(y - radius + k, H, parity, &turned) * W;
                for (int x = 0; x < W; ++x) copy[k * W + x] = turned * row[x];
            }
            from = copy + radius * W;
        }
        (radius < WIDE ? narrow : wide)(out + y * W, from, rows, count, W, weights, radius, factor, parity);
    }
}
