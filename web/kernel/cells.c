/* First derivatives on 2x2 cells. In a cell with pixels u00 u10 / u01 u11 (first index = x):
 *
 *   p = (u10 - u00 + u11 - u01) / 2     x-derivative at the cell centre
 *   q = (u01 - u00 + u11 - u10) / 2     y-derivative at the cell centre
 *   r = (u11 - u10 - u01 + u00) / 2     the remaining Haar detail
 *
 * -div(D grad u) = K^T (a p + b q, b p + c q, mu r),  mu = (1 - 2 alpha) (a + c - 2 gamma |b|),  D = [[a, b], [b, c]].
 *
 * Everything goes row by row: what a row of cells needs stays in the fastest memory, and an image is read once a step.
 */
#include "kernel.h"

/* 2 p, 2 q, 2 r in the cells i, ..., i + 3, inside the image, between the rows of pixels above and below them. */
INLINE quads differences(const float *up, const float *down, int i) {
    const quad u00 = AT(up, i - 1), u10 = AT(up, i), u01 = AT(down, i - 1), u11 = AT(down, i);
    const quad top = u10 - u00, bottom = u11 - u01;
    return (quads){ top + bottom, (u01 - u00) + (u11 - u10), bottom - top };
}

/* The same at the ends of a row, beyond which its mirror image continues. */
static __attribute__((noinline)) quads at_the_border(const float *up, const float *down, int i, int W) {
    float mirrored[2][5];
    for (int k = 0; k < 5; ++k) {
        const int x = i - 1 + k < 0 ? 0 : i - 1 + k < W ? i - 1 + k : W - 1;
        mirrored[0][k] = up[x];
        mirrored[1][k] = down[x];
    }
    return differences(mirrored[0], mirrored[1], 1);
}

/* The rows of pixels above and below row j of the cells. */
static inline const float *above(const float *u, int j, int W) { return u + (j > 0 ? j - 1 : 0) * W; }
static inline const float *below(const float *u, int j, int H, int W) { return u + (j < H ? j : H - 1) * W; }

/* Rows of cells as long as whole vectors. */
static inline int pitch_of(int W) { return (W + 4) & ~3; }

INLINE void add_structures(float *J, VIEW up, VIEW down, int W, float e, float weight, int first, int trace) {
    float *J12 = J + pitch_of(W), *J22 = J12 + pitch_of(W);
    const float w = 0.25f * weight; /* the differences are twice p, q, r */
    add_structure(J, J12, J22, 0, at_the_border(up, down, 0, W), e, w, first, trace);
    int i = 4;
    for (; i + 4 <= W; i += 4) add_structure(J, J12, J22, i, differences(up, down, i), e, w, first, trace);
    for (; i <= W; i += 4) add_structure(J, J12, J22, i, at_the_border(up, down, i, W), e, w, first, trace);
}

/* Row j of J for `count` planes that lie one behind the other, with their weights or with 1. */
static void structure_row(float *J, VIEW planes, const float *weights, int count, int j, int H, int W, float e, int trace) {
    for (int k = 0; k < count; ++k) {
        const float *up = above(planes + k * H * W, j, W), *down = below(planes + k * H * W, j, H, W);
        const float weight = weights ? weights[k] : 1.0f;
        if (trace && k == 0) add_structures(J, up, down, W, e, weight, 1, 1);
        else if (trace) add_structures(J, up, down, W, e, weight, 0, 1);
        else if (k == 0) add_structures(J, up, down, W, e, weight, 1, 0);
        else add_structures(J, up, down, W, e, weight, 0, 0);
    }
}

/* The flux P, Q, R as P + R, Q, P - R. */
INLINE quads flux(quads d, quad a, quad b, quad c, float e, float gamma) {
    const quads f = fluxes(d, a, b, c, e, gamma);
    return (quads){ f.p + f.r, f.q, f.p - f.r };
}

/* Each of four cells and its right neighbour: v(i) + v(i + 1), and v(i) - v(i + 1). */
INLINE quad next_to(quad v, quad following) { return __builtin_shufflevector(v, following, 1, 2, 3, 4); }
INLINE quad added(quad v, quad following) { return v + next_to(v, following); }
INLINE quad subtracted(quad v, quad following) { return v - next_to(v, following); }

/* K^T: a pixel is u10 and u00 of two cells in the row above it, and u11 and u01 of two in the row below. What a row of
 * cells sends down waits for the next row. */
INLINE quad sent_up(quads f, quads following) { return subtracted(f.r, following.r) - added(f.q, following.q); }
INLINE quad sent_down(quads f, quads following) { return added(f.q, following.q) + subtracted(f.p, following.p); }

/* With row j of the cells row j - 1 of the pixels is complete: out = from + factor K^T D K u there, or without from. */
static void divergence_row(float *out, const float *from, PLANE waiting, const float *up, const float *down, VIEW a, VIEW b, VIEW c, int W,
                           float e, float gamma, float factor) {
    const float scaled = 0.25f * factor; /* the differences are twice p, q, r, and K^T has their 1/2 */
    quads f = flux(at_the_border(up, down, 0, W), AT(a, 0), AT(b, 0), AT(c, 0), e, gamma), following;
    int i = 4;
    for (; i + 4 <= W; i += 4, f = following) {
        following = flux(differences(up, down, i), AT(a, i), AT(b, i), AT(c, i), e, gamma);
        const quad total = scaled * (AT(waiting, i - 4) + sent_up(f, following));
        PUT(out, i - 4) = from ? AT(from, i - 4) + total : total;
        PUT(waiting, i - 4) = sent_down(f, following);
    }
    for (; i - 4 < W; i += 4, f = following) {
        following = flux(at_the_border(up, down, i, W), AT(a, i), AT(b, i), AT(c, i), e, gamma);
        const quad total = scaled * (AT(waiting, i - 4) + sent_up(f, following));
        put(out, i - 4, W, from ? AT(from, i - 4) + total : total);
        PUT(waiting, i - 4) = sent_down(f, following);
    }
}

/* How many numbers the rows of all functions here take, for C channels: what waits, a tensor, and a row for nothing. */
int EXPORT(cell_room)(int C, int W) { return (C + 4) * pitch_of(W); }

/* J, or what the law sees of it, of `count` planes that lie one behind the other, each with its weight; in the rows first,
 * ..., last - 1 of the cells. */
void EXPORT(structure)(PLANE J11, PLANE J12, PLANE J22, VIEW planes, VIEW weights, int count, PLANE J, int H, int W,
                       float alpha, int law, int first, int last) {
    const int cells = W + 1, pitch = pitch_of(W), trace = sees_trace(law);
    for (int j = first; j < last; ++j) {
        structure_row(J, planes, weights, count, j, H, W, 1.0f - 2.0f * alpha, trace);
        for (int i = 0; i < cells; i += 4) put(J11 + j * cells, i, cells, AT(J, i));
        for (int i = 0; i < cells; i += 4) put(J12 + j * cells, i, cells, AT(J, pitch + i));
        for (int i = 0; trace && i < cells; i += 4) put(J22 + j * cells, i, cells, AT(J, 2 * pitch + i));
    }
}

/* out = K^T D K u for a diffusion tensor in three planes, in the rows first, ..., last - 1 of the pixels. */
void EXPORT(minus_divergence)(PLANE out, VIEW u, VIEW a, VIEW b, VIEW c, PLANE rows, int H, int W, float alpha,
                              float gamma, int first, int last) {
    float *waiting = rows, *nothing = rows + pitch_of(W);
    for (int j = first, at = first * (W + 1); j <= last; ++j, at += W + 1)
        divergence_row(j > first ? out + (j - 1) * W : nothing, 0, waiting, above(u, j, W), below(u, j, H, W), a + at, b + at,
                       c + at, W, 1.0f - 2.0f * alpha, gamma, 1.0f);
}

/* u -= tau K^T D K u by row j of the cells, from the first on, in C channels that share D, which lies in three rows. Row j - 1
 * of the pixels is not needed afterwards, so that it can be written over. */
static void advance(float *u, float *rows, VIEW D, int C, int j, int first, int H, int W, float alpha, float gamma, float tau) {
    const int pitch = pitch_of(W);
    for (int k = 0; k < C; ++k) {
        const float *up = above(u + k * H * W, j, W), *down = below(u + k * H * W, j, H, W);
        float *to = j > first ? u + (k * H + j - 1) * W : rows + (C + 3) * pitch;
        divergence_row(to, up, rows + k * pitch, up, down, D, D + pitch, D + 2 * pitch, W, 1.0f - 2.0f * alpha, gamma, -tau);
    }
}

/* The same for the rows first, ..., last - 1 of the image, in one pass, for a D that follows from structure tensors in three
 * planes. */
void EXPORT(tensor_step)(PLANE u, VIEW J11, VIEW J12, VIEW J22, PLANE rows, int C, int H, int W, float alpha,
                         float gamma, int law, int kind, float contrast, float tau, int first, int last) {
    const int pitch = pitch_of(W);
    float *D = rows + C * pitch;
    for (int j = first, at = first * (W + 1); j <= last; ++j, at += W + 1) {
        for (int i = 0; i <= W; i += 4) PUT(D, i) = AT(J11, at + i);
        for (int i = 0; i <= W; i += 4) PUT(D, pitch + i) = AT(J12, at + i);
        for (int i = 0; i <= W; i += 4) PUT(D, 2 * pitch + i) = AT(J22, at + i);
        diffusion_tensor(D, D + pitch, D + 2 * pitch, pitch, law, kind, contrast);
        advance(u, rows, D, C, j, first, H, W, alpha, gamma, tau);
    }
}

/* And for the whole image, for a D that comes from the channels of `seen`, with their own alpha; `seen` may be u. */
void EXPORT(step)(float *u, const float *seen, PLANE rows, int C, int H, int W, float alpha,
                  float seen_alpha, float gamma, int law, int kind, float contrast, float tau) {
    const int pitch = pitch_of(W);
    float *D = rows + C * pitch;
    for (int j = 0; j <= H; ++j) {
        structure_row(D, seen, 0, C, j, H, W, 1.0f - 2.0f * seen_alpha, sees_trace(law));
        diffusion_tensor(D, D + pitch, D + 2 * pitch, pitch, law, kind, contrast);
        advance(u, rows, D, C, j, 0, H, W, alpha, gamma, tau);
    }
}
