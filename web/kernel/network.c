/* One application of a learned block, u - K2* Phi(K1 u), in one pass over the rows of a strip of the picture.
 *
 * The operators are carried out in two factors: few fixed stencils on 5x5 pixels, the same for all channels, and a mixing
 * of their responses in every pixel. A stencil is a sum of products of even and odd functions along both axes:
 *
 *   e0 = u(x),  ej = u(x + j) + u(x - j),  oj = u(x + j) - u(x - j),  j = 1, 2
 *
 *   order 0: e_i(y) e_j(x), equal for (i, j) and (j, i)          order 1: e_i(y) o_j(x), and with the axes exchanged
 *   order 2: e_i(y) e_j(x), opposite for (i, j) and (j, i), and o_i(y) o_j(x)
 *
 * so that six coefficients make a stencil of either component. Beyond its border the picture is mirrored; fields of a
 * mirrored picture are mirrored fields, so nothing has to be folded back.
 */
#include "exponentials.h"
#include "kernel.h"

enum {
    P0 = 3, P1 = 2, P2 = 2,                /* stencils of the orders 0, 1, 2 */
    SECOND = 6 * P0, THIRD = 6 * (P0 + P1), /* where the coefficients of orders 1 and 2 begin */
    TAPS = 6 * (P0 + P1 + P2),
    RESPONSES = P0 + 2 * P1 + 2 * P2,
    RADIUS = 2,
    PITCH = 136,       /* pixels of a row that is worked on; no power of two, which would crowd the same lines of a cache */
    WIDE = PITCH + 8,  /* with the neighbours on either side */
    SPARE = 8          /* read beyond the ends of a field, and not used */
};

/* out = start + matrix in, for n pixels (a multiple of 8): four outputs of eight pixels at a time. The matrix holds, group
 * by group, the four numbers of the first input, then those of the second, ... Without a start, sums begin at 0. */
static void product(PLANE out, VIEW in, VIEW matrix, const float *start, int outputs, int inputs, int n) {
    for (int x = 0; x < n; x += 8) {
        const float *m = matrix;
        for (int f = 0; f < outputs; f += 4) {
            quad near[4], far[4];
            for (int g = 0; g < 4; ++g) near[g] = far[g] = (quad){0.0f} + (start ? start[f + g] : 0.0f);
            for (int k = 0; k < inputs; ++k, m += 4) {
                const quad p = AT(in, k * PITCH + x), q = AT(in, k * PITCH + x + 4);
                for (int g = 0; g < 4; ++g) {
                    near[g] += m[g] * p;
                    far[g] += m[g] * q;
                }
            }
            for (int g = 0; g < 4; ++g) {
                PUT(out, (f + g) * PITCH + x) = near[g];
                PUT(out, (f + g) * PITCH + x + 4) = far[g];
            }
        }
    }
}

/* All stencils of a channel, from five rows whose pixel x + 2 is the middle of pixel x. S holds the responses to order 0,
 * then the first and the second components of orders 1 and 2, those of a channel next to each other. */
static void respond(PLANE S, const float *const rows[5], VIEW t, int C, int c, int n) {
    float *s0 = S + c * P0 * PITCH, *c1 = S + (C * P0 + c * P1) * PITCH, *s1 = c1 + C * P1 * PITCH;
    float *c2 = S + (C * (P0 + 2 * P1) + c * P2) * PITCH, *s2 = c2 + C * P2 * PITCH;
    for (int x = 0; x < n; x += 4) {
        quad along[5][5]; /* e0, e1, e2, o1, o2 along y, for five columns */
        for (int d = 0; d < 5; ++d) {
            const quad a = AT(rows[0], x + d), b = AT(rows[1], x + d), m = AT(rows[2], x + d);
            const quad y = AT(rows[3], x + d), z = AT(rows[4], x + d);
            along[0][d] = m;
            along[1][d] = y + b;
            along[2][d] = z + a;
            along[3][d] = y - b;
            along[4][d] = z - a;
        }
        quad even[5][3], odd[5][3];
        for (int i = 0; i < 5; ++i) {
            even[i][0] = along[i][2];
            for (int j = 1; j <= 2; ++j) {
                even[i][j] = along[i][2 + j] + along[i][2 - j];
                odd[i][j] = along[i][2 + j] - along[i][2 - j];
            }
        }
        const quad equal[6] = { even[0][0], even[1][1], even[2][2], even[0][1] + even[1][0], even[0][2] + even[2][0],
                                even[1][2] + even[2][1] };
        const quad opposite[3] = { even[0][1] - even[1][0], even[0][2] - even[2][0], even[1][2] - even[2][1] };
        const quad twice[3] = { odd[3][1], odd[4][2], odd[3][2] + odd[4][1] };
        for (int p = 0; p < P0; ++p) {
            quad sum = t[6 * p] * equal[0];
            for (int k = 1; k < 6; ++k) sum += t[6 * p + k] * equal[k];
            PUT(s0, p * PITCH + x) = sum;
        }
        for (int p = 0; p < P1; ++p) {
            quad across = (quad){0.0f}, down = across;
            for (int i = 0; i < 3; ++i)
                for (int j = 1; j <= 2; ++j) {
                    const float w = t[SECOND + 6 * p + 2 * i + j - 1];
                    across += w * odd[i][j];
                    down += w * even[2 + j][i];
                }
            PUT(c1, p * PITCH + x) = across;
            PUT(s1, p * PITCH + x) = down;
        }
        for (int p = 0; p < P2; ++p) {
            const float *w = t + THIRD + 6 * p;
            PUT(c2, p * PITCH + x) = w[0] * opposite[0] + w[1] * opposite[1] + w[2] * opposite[2];
            PUT(s2, p * PITCH + x) = w[3] * twice[0] + w[4] * twice[1] + w[5] * twice[2];
        }
    }
}

/* u(x), u(x - 1) + u(x + 1), u(x - 2) + u(x + 2): even functions are their own transposes, odd ones change their sign. */
static inline void evens(quad e[3], VIEW row, int x) {
    e[0] = AT(row, x);
    for (int j = 1; j <= 2; ++j) e[j] = AT(row, x - j) + AT(row, x + j);
}
static inline void odds(quad o[3], VIEW row, int x) {
    for (int j = 1; j <= 2; ++j) o[j] = AT(row, x - j) - AT(row, x + j);
}

/* The transposes of all stencils of a channel, added to the rows two above, ..., two below, of which the last begins. */
static void transpose(float *const rows[5], VIEW S, VIEW t, int C, int c, int n) {
    static const int equal[3][3] = { { 0, 3, 4 }, { 3, 1, 5 }, { 4, 5, 2 } }, twice[3][3] = { { 0 }, { 0, 0, 2 }, { 0, 2, 1 } };
    const float *s0 = S + c * P0 * PITCH, *c1 = S + (C * P0 + c * P1) * PITCH, *s1 = c1 + C * P1 * PITCH;
    const float *c2 = S + (C * (P0 + 2 * P1) + c * P2) * PITCH, *s2 = c2 + C * P2 * PITCH;
    for (int x = RADIUS; x < n - RADIUS; x += 4) {
        quad e[3] = { { 0.0f } }, o[3] = { { 0.0f } }, part[3]; /* what goes to e0, e1, e2 and to o1, o2 along y */
        for (int p = 0; p < P0; ++p) {
            evens(part, s0 + p * PITCH, x);
            for (int i = 0; i < 3; ++i)
                for (int j = 0; j < 3; ++j) e[i] += t[6 * p + equal[i][j]] * part[j];
        }
        for (int p = 0; p < P1; ++p) {
            const float *w = t + SECOND + 6 * p;
            odds(part, c1 + p * PITCH, x);
            for (int i = 0; i < 3; ++i) e[i] += w[2 * i] * part[1] + w[2 * i + 1] * part[2];
            evens(part, s1 + p * PITCH, x);
            for (int j = 1; j <= 2; ++j)
                for (int i = 0; i < 3; ++i) o[j] += w[2 * i + j - 1] * part[i];
        }
        for (int p = 0; p < P2; ++p) {
            const float *w = t + THIRD + 6 * p;
            evens(part, c2 + p * PITCH, x);
            e[0] += w[0] * part[1] + w[1] * part[2];
            e[1] += w[2] * part[2] - w[0] * part[0];
            e[2] -= w[1] * part[0] + w[2] * part[1];
            odds(part, s2 + p * PITCH, x);
            for (int j = 1; j <= 2; ++j)
                for (int k = 1; k <= 2; ++k) o[j] += w[3 + twice[j][k]] * part[k];
        }
        PUT(rows[0], x) = AT(rows[0], x) + (e[2] - o[2]);
        PUT(rows[1], x) = AT(rows[1], x) + (e[1] - o[1]);
        PUT(rows[2], x) = AT(rows[2], x) + e[0];
        PUT(rows[3], x) = AT(rows[3], x) + (e[1] + o[1]);
        PUT(rows[4], x) = e[2] + o[2];
    }
}

/* log(1 + x) for x >= 0, to about one unit in the last place: what 1 + x rounds away is added again. */
static inline float logarithm(float x) {
    const float u = 1.0f + x, lost = x - (u - 1.0f);
    union { float f; int i; } bits = { .f = u };
    const int shifted = bits.i - 0x3f3504f3; /* the bits of sqrt(1/2): the mantissa m lies in [sqrt(1/2), sqrt(2)) */
    const float n = (float)(shifted >> 23);
    bits.i = (shifted & 0x7fffff) + 0x3f3504f3;
    const float f = bits.f - 1.0f, z = f * f;
    float p = 7.0376836292e-2f;
    p = p * f - 1.1514610310e-1f;
    p = p * f + 1.1676998740e-1f;
    p = p * f - 1.2420140846e-1f;
    p = p * f + 1.4249322787e-1f;
    p = p * f - 1.6668057665e-1f;
    p = p * f + 2.0000714765e-1f;
    p = p * f - 2.4999993993e-1f;
    p = p * f + 3.3333331174e-1f;
    const float y = (p * f * z - n * 2.12194440e-4f) - 0.5f * z;
    return ((f + y) + n * 0.693359375f) + lost / u;
}

/* 1 / (1 + exp(-x)) */
static inline float logistic(float x) {
    const float small = exponential_of(-__builtin_fabsf(x)), whole = 1.0f / (1.0f + small);
    return x >= 0.0f ? whole : small * whole;
}

/* What gates look at, before it is scaled: fields of order 0 as they are, the squared lengths of the others. */
static void invariants(PLANE out, VIEW v, int F0, int F1, int F2) {
    const float *c1 = v + F0 * PITCH, *c2 = c1 + 2 * F1 * PITCH;
    float *q1 = out + F0 * PITCH, *q2 = q1 + F1 * PITCH;
    for (int i = 0; i < F0 * PITCH; ++i) out[i] = v[i];
    for (int i = 0; i < F1 * PITCH; ++i) q1[i] = c1[i] * c1[i] + c1[i + F1 * PITCH] * c1[i + F1 * PITCH];
    for (int i = 0; i < F2 * PITCH; ++i) q2[i] = c2[i] * c2[i] + c2[i + F2 * PITCH] * c2[i + F2 * PITCH];
}

static void blend_across(PLANE out, VIEW in, int n) {
    for (int i = 0; i < n; ++i) out[i] = 0.5f * in[i] + 0.25f * (in[i - 1] + in[i + 1]);
}

static void blend_down(PLANE out, VIEW above, VIEW here, VIEW below, int n) {
    for (int i = 0; i < n; ++i) out[i] = 0.5f * here[i] + 0.25f * (above[i] + below[i]);
}

static void scaled(PLANE seen, VIEW scale, int F0, int fields) {
    for (int f = 0; f < fields; ++f) {
        float *restrict row = seen + f * PITCH;
        if (f < F0)
            for (int i = 0; i < PITCH; ++i) row[i] *= scale[f];
        else
            for (int i = 0; i < PITCH; ++i) row[i] = logarithm(scale[f] * row[i]);
    }
}

/* Every component times the gate of its field. */
static void gated(PLANE v, PLANE gates, int F0, int F1, int F2) {
    float *v1 = v + F0 * PITCH, *v2 = v1 + 2 * F1 * PITCH;
    const float *g1 = gates + F0 * PITCH, *g2 = g1 + F1 * PITCH;
    for (int i = 0; i < (F0 + F1 + F2) * PITCH; ++i) gates[i] = logistic(gates[i]);
    for (int i = 0; i < F0 * PITCH; ++i) v[i] *= gates[i];
    for (int i = 0; i < F1 * PITCH; ++i) { v1[i] *= g1[i]; v1[i + F1 * PITCH] *= g1[i]; }
    for (int i = 0; i < F2 * PITCH; ++i) { v2[i] *= g2[i]; v2[i + F2 * PITCH] *= g2[i]; }
}

/* Columns x, ..., x + n - 1 of a row, mirrored where they lie beyond the border. */
static void load(PLANE row, VIEW u, int W, int x, int n) {
    const int begin = x < 0 ? (-x < n ? -x : n) : 0, end = W - x < n ? (W - x < begin ? begin : W - x) : n;
    for (int i = 0; i < begin; ++i) row[i] = u[mirror(x + i, W)];
    for (int i = begin; i < end; ++i) row[i] = u[x + i];
    for (int i = end; i < n; ++i) row[i] = u[mirror(x + i, W)];
}

static inline int ring(int y, int n) { return (y + 4 * n) % n; }

/* How many numbers the rows of `gated_block` take. */
int EXPORT(block_room)(int C, int F0, int F1, int F2, int rho) {
    const int fields = F0 + F1 + F2, components = F0 + 2 * (F1 + F2);
    return (10 * C) * WIDE + (RESPONSES * C + (rho + 1) * components + 3 * fields + 3 * fields) * PITCH + 8 * SPARE;
}

/* Rows y0 <= y < y1 of out = u - K2* Phi(K1 u), for C channels one behind the other. `numbers`: the coefficients of the
 * stencils and the three matrices of K1, the same of K2* (its matrices transposed), and the matrix of the gates. Gates look
 * at invariants times `scale`, smoothed where rho is 1, and add `offset`. `room`: zeros, as many as block_room says. */
void EXPORT(gated_block)(PLANE out, VIEW u, VIEW numbers, VIEW offset, VIEW scale, PLANE room, int C, int H, int W, int y0,
                         int y1, int F0, int F1, int F2, int rho) {
    const int fields = F0 + F1 + F2, components = F0 + 2 * (F1 + F2), margin = RADIUS + rho, first = y0 - margin;
    const float *A0 = numbers + TAPS, *A1 = A0 + F0 * P0 * C, *A2 = A1 + F1 * P1 * C, *back = A2 + F2 * P2 * C;
    const float *B0 = back + TAPS, *B1 = B0 + F0 * P0 * C, *B2 = B1 + F1 * P1 * C, *G = B2 + F2 * P2 * C;
    float *stream = room + SPARE, *sums = stream + 5 * C * WIDE, *S = sums + 5 * C * WIDE + SPARE;
    float *fieldRows = S + RESPONSES * C * PITCH + SPARE, *raw = fieldRows + (rho + 1) * components * PITCH + SPARE;
    float *seen = raw + fields * PITCH + SPARE, *gates = seen + fields * PITCH, *smooth = gates + fields * PITCH;
    const int at[6] = { 0, P0 * C * PITCH, (P0 + P1) * C * PITCH, (P0 + 2 * P1) * C * PITCH, (P0 + 2 * P1 + P2) * C * PITCH };
    for (int x0 = 0, x1; x0 < W; x0 = x1) {
        x1 = x0 + PITCH - 2 * margin < W ? x0 + PITCH - 2 * margin : W;
        const int n = x1 - x0 + 2 * margin, whole = (n + 7) & ~7;
        for (int y = first - RADIUS; y < y1 + margin + RADIUS; ++y) {
            for (int c = 0; c < C; ++c)
                load(stream + (ring(y, 5) * C + c) * WIDE, u + (c * H + mirror(y, H)) * W, W, x0 - margin - RADIUS, n + 2 * RADIUS);
            const int here = y - RADIUS, r = here - rho; /* fields are computed in row `here`, gated and taken back in row r */
            if (here < first) continue;
            for (int c = 0; c < C; ++c) {
                const float *rows[5];
                for (int k = 0; k < 5; ++k) rows[k] = stream + (ring(here - RADIUS + k, 5) * C + c) * WIDE;
                respond(S, rows, numbers, C, c, whole);
            }
            float *v = fieldRows + (rho ? ring(here, 2) : 0) * components * PITCH;
            product(v, S, A0, 0, F0, C * P0, whole);
            product(v + F0 * PITCH, S + at[1], A1, 0, F1, C * P1, whole);
            product(v + (F0 + F1) * PITCH, S + at[2], A1, 0, F1, C * P1, whole);
            product(v + (F0 + 2 * F1) * PITCH, S + at[3], A2, 0, F2, C * P2, whole);
            product(v + (F0 + 2 * F1 + F2) * PITCH, S + at[4], A2, 0, F2, C * P2, whole);
            if (rho) {
                invariants(raw, v, F0, F1, F2);
                blend_across(smooth + ring(here, 3) * fields * PITCH, raw, fields * PITCH);
                if (here < first + 2) continue;
                blend_down(seen, smooth + ring(here - 2, 3) * fields * PITCH, smooth + ring(here - 1, 3) * fields * PITCH,
                           smooth + ring(here, 3) * fields * PITCH, fields * PITCH);
                v = fieldRows + ring(r, 2) * components * PITCH;
            } else {
                invariants(seen, v, F0, F1, F2);
            }
            scaled(seen, scale, F0, fields);
            product(gates, seen, G, offset, fields, fields, whole);
            gated(v, gates, F0, F1, F2);
            product(S, v, B0, 0, C * P0, F0, whole);
            product(S + at[1], v + F0 * PITCH, B1, 0, C * P1, F1, whole);
            product(S + at[2], v + (F0 + F1) * PITCH, B1, 0, C * P1, F1, whole);
            product(S + at[3], v + (F0 + 2 * F1) * PITCH, B2, 0, C * P2, F2, whole);
            product(S + at[4], v + (F0 + 2 * F1 + F2) * PITCH, B2, 0, C * P2, F2, whole);
            for (int c = 0; c < C; ++c) {
                float *rows[5];
                for (int k = 0; k < 5; ++k) rows[k] = sums + (ring(r - RADIUS + k, 5) * C + c) * WIDE;
                transpose(rows, S, back, C, c, n);
                if (r - RADIUS < y0) continue;
                const int place = (c * H + r - RADIUS) * W;
                for (int x = x0; x < x1; ++x) out[place + x] = u[place + x] - rows[0][x - x0 + margin];
            }
        }
    }
}

/* out += the stencil of order 0 with the coefficients t, from a frame two pixels wide. */
void EXPORT(add_even_stencil)(PLANE out, VIEW frame, VIEW t, int H, int W) {
    const int wide = W + 2 * RADIUS;
    for (int y = 0; y < H; ++y) {
        const float *m = frame + (y + RADIUS) * wide + RADIUS, *b = m - wide, *a = b - wide, *c = m + wide, *d = c + wide;
        float *restrict row = out + y * W;
        for (int x = 0; x < W; ++x) {
            const float e1 = b[x] + c[x], e2 = a[x] + d[x];
            const float near = m[x - 1] + m[x + 1], far = m[x - 2] + m[x + 2];
            const float near1 = (b[x - 1] + c[x - 1]) + (b[x + 1] + c[x + 1]), far1 = (b[x - 2] + c[x - 2]) + (b[x + 2] + c[x + 2]);
            const float near2 = (a[x - 1] + d[x - 1]) + (a[x + 1] + d[x + 1]), far2 = (a[x - 2] + d[x - 2]) + (a[x + 2] + d[x + 2]);
            row[x] += t[0] * m[x] + t[1] * near1 + t[2] * far2 + t[3] * (near + e1) + t[4] * (far + e2) + t[5] * (far1 + near2);
        }
    }
}
