/* Derivatives along many directions: a 4x4 stencil of eight opposite pairs per direction, at the cell centres.
 *
 * The frame here is the image mirrored by three pixels, (H+6) x (W+6), with (H+3) x (W+3) cells. The mirror turns one
 * direction into another of the set, so that the sum over all directions of the transposed stencils, cropped to the
 * image, is the exact adjoint.
 *
 * The set is its own mirror image: with left and right exchanged, direction d is direction COUNT - d, the first is the
 * opposite of itself, and the one in the middle is itself. So a derivative is a sum of differences that are even or odd
 * under this exchange, and two directions share both parts: even + odd is the one, even - odd the other.
 */
#include "kernel.h"

#define UNROLLED _Pragma("clang loop unroll(full)")

enum {
    COUNT = 8, /* directions */
    MIDDLE = COUNT / 2,
    HALF = 4, /* even as well as odd differences */
    ROWS = 4  /* of pixels around a cell */
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

/* What four fluxes, in rows, do to two rows of pixels: minus those that begin at a pixel, plus those that end there. */
INLINE quad begun(const float *flux, int pitch) {
    const float *second = flux + pitch, *third = second + pitch, *fourth = third + pitch;
    return (AT(flux, 3) + AT(second, 0)) + (AT(third, 2) + AT(fourth, 1));
}
INLINE quad ended(const float *flux, int pitch) {
    const float *second = flux + pitch, *third = second + pitch, *fourth = third + pitch;
    return (AT(flux, 0) + AT(second, 3)) + (AT(third, 1) + AT(fourth, 2));
}

/* Rows of cells, as long as whole vectors. */
static inline int pitch_of(int W) { return (W + 6) & ~3; }

int EXPORT(directions)(void) { return COUNT; }

/* How many numbers the rows of `directional_step` take. */
int EXPORT(directional_room)(int W) { return (COUNT + 2 * HALF + ROWS) * pitch_of(W); }

typedef struct { float even[MIDDLE + 1][HALF], odd[MIDDLE + 1][HALF]; } stencils;

/* The derivatives along all directions in four cells, one pitch apart: squared for what steers the diffusion, and
 * multiplied by g, which is there already, for the image itself. */
INLINE void derivatives(float *v, parts s, const stencils *w, int pitch, float inside, int squared) {
#define KEEP(d, value)                                                                                   \
    do {                                                                                                  \
        const quad kept = value;                                                                          \
        PUT(v, (d) * pitch) = squared ? inside * (kept * kept) : AT(v, (d) * pitch) * kept;               \
    } while (0)
    KEEP(0, sum(s.odd, w->odd[0]));
    KEEP(MIDDLE, sum(s.even, w->even[MIDDLE]));
    UNROLLED for (int d = 1; d < MIDDLE; ++d) {
        const quad e = sum(s.even, w->even[d]), o = sum(s.odd, w->odd[d]);
        KEEP(d, e + o);
        KEEP(COUNT - d, e - o);
    }
#undef KEEP
}

/* The transpose: the fluxes along all directions give those of the pairs. */
INLINE parts gathered(const float *v, const stencils *w, int pitch) {
    const quad first = AT(v, 0), last = AT(v, MIDDLE * pitch);
    parts f;
    for (int k = 0; k < HALF; ++k) f.odd[k] = w->odd[0][k] * first, f.even[k] = w->even[MIDDLE][k] * last;
    UNROLLED for (int d = 1; d < MIDDLE; ++d) {
        const quad one = AT(v, d * pitch), other = AT(v, (COUNT - d) * pitch);
        spread(f.even, w->even[d], one + other);
        spread(f.odd, w->odd[d], one - other);
    }
    return f;
}

/* u -= tau times the sum over all directions of K^T (g(inside (K seen)^2) K u), from frames of u and of what steers. */
void EXPORT(directional_step)(PLANE u, const float *frame, const float *seen, PLANE rows, int H, int W, VIEW weights,
                              float inside, int law, int kind, float contrast, float tau) {
    const int wide = W + 6, cells = W + 3, pitch = pitch_of(W);
    stencils w;
    for (int d = 0; d <= MIDDLE; ++d) split(w.even[d], w.odd[d], weights + 2 * HALF * d);
    float *v = rows, *outer = v + COUNT * pitch, *inner = outer + HALF * pitch, *open = inner + HALF * pitch;
    for (int j = 0; j < H + 3; ++j) {
        const float *image[ROWS], *steering[ROWS];
        for (int k = 0; k < ROWS; ++k) image[k] = frame + (j + k) * wide, steering[k] = seen + (j + k) * wide;
        for (int i = 0; i < cells; i += 4) derivatives(v + i, differences(steering, i), &w, pitch, inside, 1);
        diffusion_tensor(v, 0, 0, COUNT * pitch, law, kind, contrast);
        for (int i = 0; i < cells; i += 4) derivatives(v + i, differences(image, i), &w, pitch, inside, 0);
        for (int i = 0; i < cells; i += 4) {
            const parts f = gathered(v + i, &w, pitch);
            for (int k = 0; k < HALF; ++k) {
                float *to = (k < HALF / 2 ? outer : inner) + 2 * (k % 2) * pitch + i;
                PUT(to, 0) = f.even[k] + f.odd[k];
                PUT(to, pitch) = f.even[k] - f.odd[k];
            }
        }
        /* A row of cells is the last of four that image row j - 3 needs, and the first for row j. */
        float *near0 = open + ((j - 3) & 3) * pitch, *near1 = open + ((j - 2) & 3) * pitch;
        float *far1 = open + ((j - 1) & 3) * pitch, *far0 = open + (j & 3) * pitch, *row = u + (j - 3) * W;
        for (int x = 0; j >= 3 && x < W; x += 4)
            put(row, x, W, AT(row, x) - tau * (AT(near0, x) - begun(outer + x, pitch)));
        for (int x = 0; x < W; x += 4) {
            PUT(near1, x) = AT(near1, x) - begun(inner + x, pitch);
            PUT(far1, x) = AT(far1, x) + ended(inner + x, pitch);
            PUT(far0, x) = ended(outer + x, pitch);
        }
    }
}
