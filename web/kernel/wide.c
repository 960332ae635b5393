/* Steps on wide cells, 4x4 pixels, whose derivatives are of fourth order at the cell centre (whorl.operators.wide).
 *
 * p and q are derivatives along one axis of averages along the other, r is twice a third difference along both. What
 * follows from them is as on compact cells. The frame is the image mirrored by three pixels, (H+6) x (W+6), with
 * (H+3) x (W+3) cells: fluxes of a mirrored image are mirrored, so that plain sums of them give the adjoint.
 */
#include "kernel.h"

/* Of four values in a row. With their order reversed these are the transposes. */
INLINE quad derivative(quad a, quad b, quad c, quad d) { return 1.125f * (c - b) - (1.0f / 24.0f) * (d - a); }
INLINE quad average(quad a, quad b, quad c, quad d) { return 0.5625f * (b + c) - 0.0625f * (a + d); }
INLINE quad third(quad a, quad b, quad c, quad d) { return 0.125f * (d - a) - 0.375f * (c - b); }

#define ALONG(filter, row, x) filter(AT(row, x), AT(row, (x) + 1), AT(row, (x) + 2), AT(row, (x) + 3))
#define BACK_ALONG(filter, row, x) filter(AT(row, (x) + 3), AT(row, (x) + 2), AT(row, (x) + 1), AT(row, x))
#define ACROSS(filter, r, x) filter(AT(r[0], x), AT(r[1], x), AT(r[2], x), AT(r[3], x))
#define BACK_ACROSS(filter, r, x) filter(AT(r[3], x), AT(r[2], x), AT(r[1], x), AT(r[0], x))

static inline int pitch_of(int W) { return (W + 12) & ~3; }

/* How many numbers the rows of `wide_step` take. */
int EXPORT(wide_room)(int C, int W) { return (9 + 12 * C) * pitch_of(W); }

/* p, q, r of a row of cells, in three rows, from its four rows of pixels; `lines` has three rows. */
static void details(PLANE found, PLANE lines, const float *frame, int W) {
    const int wide = W + 6, pitch = pitch_of(W);
    const float *r[] = { frame, frame + wide, frame + 2 * wide, frame + 3 * wide };
    for (int i = 0; i < wide; i += 4) {
        PUT(lines, i) = ACROSS(average, r, i);
        PUT(lines, pitch + i) = ACROSS(derivative, r, i);
        PUT(lines, 2 * pitch + i) = ACROSS(third, r, i);
    }
    for (int i = 0; i < W + 3; i += 4) {
        PUT(found, i) = ALONG(derivative, lines, i);
        PUT(found, pitch + i) = ALONG(average, lines, pitch + i);
        PUT(found, 2 * pitch + i) = 2.0f * ALONG(third, lines, 2 * pitch + i);
    }
}

INLINE quads at(const float *found, int pitch, int i) { return (quads){ AT(found, i), AT(found, pitch + i), AT(found, 2 * pitch + i) }; }

/* u -= tau K^T D K u in C channels that share D, from frames of u and of what steers, one behind the other. An aligned law sees
 * the axes alone. */
void EXPORT(wide_step)(PLANE u, const float *frames, const float *seen, PLANE rows, int C, int H, int W, float alpha,
                       float seen_alpha, float gamma, int aligned, int law, int kind, float contrast, float tau) {
    const int wide = W + 6, size = (H + 6) * wide, pitch = pitch_of(W), trace = sees_trace(law);
    const float e = 1.0f - 2.0f * alpha, seen_e = 1.0f - 2.0f * seen_alpha;
    float *lines = rows, *found = rows + 3 * pitch, *J = rows + 6 * pitch;
    for (int j = 0; j < H + 3; ++j) {
        for (int c = 0; c < C; ++c) {
            details(found, lines, seen + c * size + j * wide, W);
            for (int i = 0; i < W + 3; i += 4)
                add_structure(J, J + pitch, J + 2 * pitch, i, at(found, pitch, i), seen_e, 1.0f, c == 0, trace);
        }
        for (int i = 0; aligned && i < pitch; ++i) J[pitch + i] = 0.0f;
        diffusion_tensor(J, J + pitch, J + 2 * pitch, W + 3, law, kind, contrast);
        for (int c = 0; c < C; ++c) {
            details(found, lines, frames + c * size + j * wide, W);
            for (int i = 0; i < W + 3; i += 4) {
                const quads f = fluxes(at(found, pitch, i), AT(J, i), AT(J, pitch + i), AT(J, 2 * pitch + i), e, gamma);
                PUT(found, i) = f.p, PUT(found, pitch + i) = f.q, PUT(found, 2 * pitch + i) = 2.0f * f.r;
            }
            /* Of each channel four rows of three sums along x: a row of cells is the last that image row j - 3 needs. */
            float *sums = rows + (9 + 12 * c) * pitch, *now = sums + 3 * (j & 3) * pitch, *row = u + (c * H + j - 3) * W;
            const float *r[4];
            for (int k = 0; k < 4; ++k) r[k] = sums + 3 * ((j + 1 + k) & 3) * pitch;
            for (int x = 0; x < W; x += 4) {
                PUT(now, x) = BACK_ALONG(derivative, found, x);
                PUT(now, pitch + x) = BACK_ALONG(average, found, pitch + x);
                PUT(now, 2 * pitch + x) = BACK_ALONG(third, found, 2 * pitch + x);
            }
            for (int x = 0; j >= 3 && x < W; x += 4)
                put(row, x, W, AT(row, x) - tau * (BACK_ACROSS(average, r, x) +
                    (BACK_ACROSS(derivative, r, pitch + x) + BACK_ACROSS(third, r, 2 * pitch + x))));
        }
    }
}
