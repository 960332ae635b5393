/* Derivatives along many directions: a 4x4 stencil of eight opposite pairs per direction, at the cell centres.
 *
 * The frame here is the image mirrored by three pixels, (H+6) x (W+6), with (H+3) x (W+3) cells. The mirror turns one
 * direction into another of the set, so that the sum over all directions of the transposed stencils, cropped to the
 * image, is the exact adjoint.
 *
 * The set is its own mirror image: with left and right exchanged, direction d is direction `count` - d, the first is the
 * opposite of itself, and the one in the middle is itself. So a derivative is a sum of differences that are even or odd
 * under this exchange, and two directions share both parts: even + odd is the one, even - odd the other.
 */
#include "kernel.h"

#define INLINE static inline __attribute__((always_inline))

enum {
    HALF = 4, /* even as well as odd differences */
    ROWS = 4, /* of pixels around a cell */
    USUAL = 8, /* directions, for which loops over them are unrolled */
    MOST = 32  /* directions there is room for */
};

typedef struct { quad even[HALF], odd[HALF]; } parts;

/* Sums and differences of the pairs far - near around four cells of row j, from its four rows of pixels. */
INLINE parts differences(const float *const rows[ROWS], int x) {
    parts d;
    for (int k = 0; k < HALF; ++k) { /* two pairs of the outer rows, then two of the inner ones */
        const float *near = rows[k / 2], *far = rows[ROWS - 1 - k / 2];
        const int at = k % 2;
        const quad one = AT(far, x + 3 - at) - AT(near, x + at), other = AT(far, x + at) - AT(near, x + 3 - at);
        d.even[k] = one + other;
        d.odd[k] = one - other;
    }
    return d;
}

/* The weights of a direction for the even or the odd differences. */
static void split(float even[HALF], float odd[HALF], VIEW w) {
    for (int k = 0; k < HALF; ++k) {
        const float one = w[ROWS * (k / 2) + k % 2], other = w[ROWS * (k / 2) + 3 - k % 2];
        even[k] = 0.5f * (one + other);
        odd[k] = 0.5f * (one - other);
    }
}

/* One part of the derivative along a direction. */
INLINE quad sum(const quad d[HALF], VIEW w) {
    return (w[0] * d[0] + w[1] * d[1]) + (w[2] * d[2] + w[3] * d[3]);
}

/* Its transpose. */
INLINE void spread(quad f[HALF], VIEW w, quad v) {
    for (int k = 0; k < HALF; ++k) f[k] += w[k] * v;
}

/* The two rows of pixels that a pair of fluxes leads to: minus those that begin at a pixel, plus those that end there. */
INLINE quad begun(VIEW flux, int pitch, int x) {
    return (AT(flux, x + 3) + AT(flux, pitch + x)) + (AT(flux, 2 * pitch + x + 2) + AT(flux, 3 * pitch + x + 1));
}
INLINE quad ended(VIEW flux, int pitch, int x) {
    return (AT(flux, x) + AT(flux, pitch + x + 3)) + (AT(flux, 2 * pitch + x + 1) + AT(flux, 3 * pitch + x + 2));
}

/* Rows of cells, as long as whole vectors. */
static inline int pitch_of(int W) { return (W + 6) & ~3; }

/* How many numbers the rows of `directional_step` take; 0 where there are too many directions. */
int EXPORT(directional_room)(int count, int W) { return count <= MOST ? (2 * HALF + ROWS + count) * pitch_of(W) : 0; }

/* u -= tau times the sum over all directions of K^T (g(inside (K seen)^2) K u), from frames of u and of what steers. */
INLINE void step_along(PLANE u, const float *frame, const float *seen, PLANE rows, int H, int W, VIEW weights,
                       int count, float inside, int law, int kind, float contrast, float tau) {
    const int wide = W + 6, cells = W + 3, pitch = pitch_of(W), middle = count / 2;
    float even[MOST / 2 + 1][HALF], odd[MOST / 2 + 1][HALF];
    for (int d = 0; d <= middle; ++d) split(even[d], odd[d], weights + 2 * HALF * d);
    float *g = rows, *outer = g + count * pitch, *inner = outer + HALF * pitch, *open = inner + HALF * pitch;
    for (int j = 0; j < H + 3; ++j) {
        const float *image[ROWS], *steering[ROWS];
        for (int k = 0; k < ROWS; ++k) image[k] = frame + (j + k) * wide, steering[k] = seen + (j + k) * wide;
        for (int i = 0; i < cells; i += 4) {
            const parts s = differences(steering, i);
            const quad first = sum(s.odd, odd[0]), last = sum(s.even, even[middle]);
            PUT(g, i) = inside * (first * first);
            PUT(g, middle * pitch + i) = inside * (last * last);
            for (int d = 1; d < middle; ++d) {
                const quad e = sum(s.even, even[d]), o = sum(s.odd, odd[d]), one = e + o, other = e - o;
                PUT(g, d * pitch + i) = inside * (one * one);
                PUT(g, (count - d) * pitch + i) = inside * (other * other);
            }
        }
        diffusion_tensor(g, 0, 0, count * pitch, law, kind, contrast);
        for (int i = 0; i < cells; i += 4) {
            const parts s = differences(image, i);
            const quad first = AT(g, i) * sum(s.odd, odd[0]), last = AT(g, middle * pitch + i) * sum(s.even, even[middle]);
            parts f;
            for (int k = 0; k < HALF; ++k) f.odd[k] = odd[0][k] * first, f.even[k] = even[middle][k] * last;
            for (int d = 1; d < middle; ++d) {
                const quad e = sum(s.even, even[d]), o = sum(s.odd, odd[d]);
                const quad one = AT(g, d * pitch + i) * (e + o), other = AT(g, (count - d) * pitch + i) * (e - o);
                spread(f.even, even[d], one + other);
                spread(f.odd, odd[d], one - other);
            }
            for (int k = 0; k < HALF; ++k) {
                float *to = k < HALF / 2 ? outer : inner;
                PUT(to, 2 * (k % 2) * pitch + i) = f.even[k] + f.odd[k];
                PUT(to, (2 * (k % 2) + 1) * pitch + i) = f.even[k] - f.odd[k];
            }
        }
        /* A row of cells is the last of four that image row j - 3 needs, and the first for row j. */
        float *near0 = open + ((j - 3) & 3) * pitch, *near1 = open + ((j - 2) & 3) * pitch;
        float *far1 = open + ((j - 1) & 3) * pitch, *far0 = open + (j & 3) * pitch;
        for (int x = 0; x < W; x += 4) {
            if (j >= 3) put(u + (j - 3) * W, x, W, AT(u + (j - 3) * W, x) - tau * (AT(near0, x) - begun(outer, pitch, x)));
            PUT(near1, x) = AT(near1, x) - begun(inner, pitch, x);
            PUT(far1, x) = AT(far1, x) + ended(inner, pitch, x);
            PUT(far0, x) = ended(outer, pitch, x);
        }
    }
}

void EXPORT(directional_step)(PLANE u, const float *frame, const float *seen, PLANE rows, int H, int W, VIEW weights,
                              int count, float inside, int law, int kind, float contrast, float tau) {
    if (count == USUAL) step_along(u, frame, seen, rows, H, W, weights, USUAL, inside, law, kind, contrast, tau);
    else step_along(u, frame, seen, rows, H, W, weights, count, inside, law, kind, contrast, tau);
}
