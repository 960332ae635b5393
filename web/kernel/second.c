/* Second derivatives at the pixels, for the fourth order models: responses and fluxes go into frames, whose borders are
 * then filled by the mirror, and the adjoint ends the step. */
#include "kernel.h"

/* sign^(number of borders between pixel i and the image) */
static inline float crossed(int i, int n, float sign) {
    const int borders = i < 0 ? (n - 1 - i) / n : i / n;
    return borders % 2 ? sign : 1.0f;
}

/* The mirror, `width` pixels wide, around the image in the middle of a frame. sign = -1: the odd mirror, because the
 * mixed derivative of a mirrored image changes its sign across each border. */
void EXPORT(mirror_border)(float *frame, int H, int W, int width, float sign) {
    const int wide = W + 2 * width;
    float *image = frame + width * wide + width;
    for (int y = 0; y < H; ++y)
        for (int k = 1; k <= width; ++k) {
            float *row = image + y * wide;
            row[-k] = crossed(-k, W, sign) * row[mirror(-k, W)];
            row[W - 1 + k] = crossed(W - 1 + k, W, sign) * row[mirror(W - 1 + k, W)];
        }
    for (int k = 1; k <= width; ++k)
        for (int side = 0; side < 2; ++side) {
            const int y = side ? H - 1 + k : -k;
            const float *from = image + mirror(y, H) * wide, turned = crossed(y, H, sign);
            for (int x = -width; x < W + width; ++x) image[y * wide + x] = turned * from[x];
        }
}

/* frame = image mirrored by `width` pixels. */
void EXPORT(extend)(float *frame, VIEW u, int H, int W, int width) {
    for (int y = 0; y < H; ++y) {
        float *restrict row = frame + (y + width) * (W + 2 * width) + width;
        for (int x = 0; x < W; ++x) row[x] = u[y * W + x];
    }
    mirror_border(frame, H, W, width, 1.0f);
}

/* Entry k of four pixels and the four after them, which start there. */
#define FROM(k, v, after) __builtin_shufflevector(v, after, k, k + 1, k + 2, k + 3)

/* Second differences, of three rows or of the pixels k - 1, k, k + 1 of a row. */
static inline quad second(quad before, quad here, quad after) { return (after - here) - (here - before); }
#define SECOND(k, v, after) second(FROM(k - 1, v, after), FROM(k, v, after), FROM(k + 1, v, after))

/* Four values in frames, and second differences across rows, dyy: what a row needs of them. */
typedef struct { quad along, across; } two_axes;

static inline two_axes both_axes(const float *row, int wide) {
    const quad here = AT(row, 0);
    return (two_axes){ here, second(AT(row - wide, 0), here, AT(row + wide, 0)) };
}

/* Delta_alpha, edges (1 - 2 alpha) and corners alpha, is dxx + dyy + alpha dxx dyy; alpha = 1/6 has an isotropic leading
 * error. */
static inline quad laplacian(two_axes v, two_axes after, float alpha) {
    return SECOND(1, v.along, after.along) + (FROM(1, v.across, after.across) + alpha * SECOND(1, v.across, after.across));
}

/* flux = g((Delta u)^2) Delta u, from a frame of u into a frame. `s2`: W + 3. */
void EXPORT(laplacian_flux)(PLANE flux, VIEW frame, PLANE s2, int H, int W, float alpha, int law, int kind, float contrast) {
    const int wide = W + 2;
    for (int y = 1; y <= H; ++y) {
        const float *from = frame + y * wide;
        float *row = flux + y * wide + 1;
        two_axes v = both_axes(from, wide);
        for (int x = 0; x < W; x += 4) {
            const two_axes after = both_axes(from + x + 4, wide);
            const quad response = laplacian(v, after, alpha);
            put(row, x, W, response);
            PUT(s2, x) = response * response;
            v = after;
        }
        diffusion_tensor(s2, 0, 0, W, law, kind, contrast);
        for (int x = 0; x < W; x += 4) put(row, x, W, AT(row, x) * AT(s2, x));
    }
}

/* u -= tau Delta flux */
void EXPORT(laplacian_step)(PLANE u, VIEW flux, int H, int W, float alpha, float tau) {
    const int wide = W + 2;
    for (int y = 0; y < H; ++y) {
        const float *from = flux + (y + 1) * wide;
        float *row = u + y * W;
        two_axes v = both_axes(from, wide);
        for (int x = 0; x < W; x += 4) {
            const two_axes after = both_axes(from + x + 4, wide);
            put(row, x, W, AT(row, x) - tau * laplacian(v, after, alpha));
            v = after;
        }
    }
}

/* What the mixed derivative needs of four pixels in five rows of a frame. */
typedef struct { quad near, both; } crossed_rows;

static inline crossed_rows crossings(VIEW middle, int wide) {
    const quad near = AT(middle + wide, 0) - AT(middle - wide, 0), far = AT(middle + 2 * wide, 0) - AT(middle - 2 * wide, 0);
    return (crossed_rows){ near, 16.0f * near - far };
}

/* mu_x mu_y (1 - dxx / 12 - dyy / 12) in the pixels 2, ..., 5 of eight: with D_jk the difference over j columns and k rows
 * on either side, and mu_x = D_10 / 2, mu_x dxx = D_20 / 2 - D_10, this is (16 D_11 - D_12 - D_21) / 48. */
static inline quad mixed(crossed_rows d, crossed_rows after) {
    return ((FROM(3, d.both, after.both) - FROM(1, d.both, after.both)) - (after.near - d.near)) * (1.0f / 48.0f);
}

/* xx = dxx (1 + dyy / 12) u,  yy = dyy (1 + dxx / 12) u,  xy = mu_x mu_y (1 - dxx / 12 - dyy / 12) u, times g of their
 * squares (of each for itself where uncoupled), from a frame two pixels wide. The mixed entry needs 5x5 pixels for the
 * error of the other two, h^2 / 12 times their Laplacian. xx and yy go into frames one pixel wide, xy into one two
 * pixels wide. `s2`: 3 (W + 3). */
void EXPORT(hessian_flux)(PLANE xx, PLANE xy, PLANE yy, VIEW frame, PLANE s2, int H, int W, int uncoupled, int law,
                          int kind, float contrast) {
    const int wide = W + 4, pitch = (W + 3) & ~3;
    for (int y = 0; y < H; ++y) {
        const float *row = frame + (y + 2) * wide;
        float *entries[3] = { xx + (y + 1) * (W + 2) + 1, xy + (y + 2) * wide + 2, yy + (y + 1) * (W + 2) + 1 };
        quad u = AT(row, 0), v = second(AT(row - wide, 0), u, AT(row + wide, 0)); /* v = dyy u */
        crossed_rows d = crossings(row, wide);
        for (int x = 0; x < W; x += 4) {
            const float *next = row + x + 4;
            const quad u_after = AT(next, 0), v_after = second(AT(next - wide, 0), u_after, AT(next + wide, 0));
            const crossed_rows d_after = crossings(next, wide);
            const quad both = SECOND(2, v, v_after) * (1.0f / 12.0f);
            const quad a = SECOND(2, u, u_after) + both, b = mixed(d, d_after), c = FROM(2, v, v_after) + both;
            put(entries[0], x, W, a);
            put(entries[1], x, W, b);
            put(entries[2], x, W, c);
            PUT(s2, x) = uncoupled ? a * a : a * a + 2.0f * (b * b) + c * c;
            PUT(s2, pitch + x) = b * b;
            PUT(s2, 2 * pitch + x) = c * c;
            u = u_after, v = v_after, d = d_after;
        }
        diffusion_tensor(s2, 0, 0, uncoupled ? 3 * pitch : pitch, law, kind, contrast);
        for (int k = 0; k < 3; ++k)
            for (int x = 0; x < W; x += 4)
                put(entries[k], x, W, AT(entries[k], x) * AT(s2, (uncoupled ? k * pitch : 0) + x));
    }
}

/* xx (1 + dyy / 12) + dyy yy / 12 in four pixels of frames, and dyy yy: dxx of the one and the other make two thirds of the
 * adjoint. */
static inline two_axes straight(VIEW a, VIEW c, int wide) {
    const quad across = second(AT(c - wide, 0), AT(c, 0), AT(c + wide, 0));
    const quad curved = second(AT(a - wide, 0), AT(a, 0), AT(a + wide, 0));
    return (two_axes){ AT(a, 0) + (curved + across) * (1.0f / 12.0f), across };
}

/* u -= tau (dxx (1 + dyy / 12) xx + 2 mu_x mu_y (1 - dxx / 12 - dyy / 12) xy + dyy (1 + dxx / 12) yy): the adjoint. */
void EXPORT(hessian_step)(PLANE u, VIEW xx, VIEW xy, VIEW yy, int H, int W, float tau) {
    const int wide = W + 2;
    for (int y = 0; y < H; ++y) {
        const float *a = xx + (y + 1) * wide, *b = xy + (y + 2) * (W + 4), *c = yy + (y + 1) * wide;
        float *row = u + y * W;
        two_axes s = straight(a, c, wide);
        crossed_rows d = crossings(b, W + 4);
        for (int x = 0; x < W; x += 4) {
            const two_axes s_after = straight(a + x + 4, c + x + 4, wide);
            const crossed_rows d_after = crossings(b + x + 4, W + 4);
            const quad rest = SECOND(1, s.along, s_after.along) + FROM(1, s.across, s_after.across);
            put(row, x, W, AT(row, x) - tau * (rest + 2.0f * mixed(d, d_after)));
            s = s_after, d = d_after;
        }
    }
}
