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

/* s2 += weight * v^2 in a row, or = where it is the first */
static void add_square(PLANE s2, VIEW v, int n, float weight, int first) {
    if (first)
        for (int i = 0; i < n; ++i) s2[i] = weight * (v[i] * v[i]);
    else
        for (int i = 0; i < n; ++i) s2[i] += weight * (v[i] * v[i]);
}

static void multiply(PLANE v, VIEW factor, int n) {
    for (int i = 0; i < n; ++i) v[i] *= factor[i];
}

/* Delta_alpha: edges (1 - 2 alpha), corners alpha. alpha = 1/6 has an isotropic leading error. */
static inline float laplacian(VIEW up, VIEW here, VIEW down, int x, float edge, float alpha) {
    const float u = here[x];
    const float edges = (here[x - 1] - u) + (here[x + 1] - u) + (up[x] - u) + (down[x] - u);
    const float corners = (up[x - 1] - u) + (up[x + 1] - u) + (down[x - 1] - u) + (down[x + 1] - u);
    return edge * edges + alpha * corners;
}

/* flux = g((Delta u)^2) Delta u, from a frame of u into a frame. `s2`: W. */
void EXPORT(laplacian_flux)(PLANE flux, VIEW frame, PLANE s2, int H, int W, float alpha, int law, int kind, float contrast) {
    const int wide = W + 2;
    for (int y = 1; y <= H; ++y) {
        const float *here = frame + y * wide + 1;
        float *restrict row = flux + y * wide + 1;
        for (int x = 0; x < W; ++x) row[x] = laplacian(here - wide, here, here + wide, x, 1.0f - 2.0f * alpha, alpha);
        add_square(s2, row, W, 1.0f, 1);
        diffusion_tensor(s2, 0, 0, W, law, kind, contrast);
        multiply(row, s2, W);
    }
}

/* u -= tau Delta flux */
void EXPORT(laplacian_step)(PLANE u, VIEW flux, int H, int W, float alpha, float tau) {
    const int wide = W + 2;
    for (int y = 0; y < H; ++y) {
        const float *here = flux + (y + 1) * wide + 1;
        for (int x = 0; x < W; ++x)
            u[y * W + x] -= tau * laplacian(here - wide, here, here + wide, x, 1.0f - 2.0f * alpha, alpha);
    }
}

/* The differences every entry of the Hessian is made of. */
#define SECOND(row, x) ((row[(x) + 1] - row[x]) - (row[x] - row[(x) - 1]))
#define ACROSS(above, middle, below) (((below) - (middle)) - ((middle) - (above)))
#define CROSS(above, below, x, k) ((below[(x) + k] - below[(x) - k]) - (above[(x) + k] - above[(x) - k]))

/* mu_x mu_y (1 - dxx / 12 - dyy / 12): with D_jk the difference over j columns and k rows on either side, and
 * mu_x = D_10 / 2, mu_x dxx = D_20 / 2 - D_10, this is (16 D_11 - D_21 - D_12) / 48. */
#define MIXED(x)                                                                                                    \
    (CROSS(up, down, x, 1) * (1.0f / 3.0f) - (CROSS(up, down, x, 2) + CROSS(up2, down2, x, 1)) * (1.0f / 48.0f))

/* xx = dxx (1 + dyy / 12) u,  yy = dyy (1 + dxx / 12) u,  xy = mu_x mu_y (1 - dxx / 12 - dyy / 12) u, times g of their
 * squares (of each for itself where uncoupled), from a frame two pixels wide. The mixed entry needs 5x5 pixels for the
 * error of the other two, h^2 / 12 times their Laplacian. xx and yy go into frames one pixel wide, xy into one two
 * pixels wide. `s2`: W. */
void EXPORT(hessian_flux)(PLANE xx, PLANE xy, PLANE yy, VIEW frame, PLANE s2, int H, int W, int uncoupled, int law,
                          int kind, float contrast) {
    const int wide = W + 4;
    for (int y = 0; y < H; ++y) {
        const float *here = frame + (y + 2) * wide + 2, *up = here - wide, *down = here + wide;
        const float *up2 = up - wide, *down2 = down + wide;
        float *entries[3] = { xx + (y + 1) * (W + 2) + 1, xy + (y + 2) * wide + 2, yy + (y + 1) * (W + 2) + 1 };
        float *restrict a = entries[0], *restrict b = entries[1], *restrict c = entries[2];
        for (int x = 0; x < W; ++x) {
            const float above = SECOND(up, x), middle = SECOND(here, x), below = SECOND(down, x);
            const float both = ACROSS(above, middle, below) * (1.0f / 12.0f);
            a[x] = middle + both;
            c[x] = ACROSS(up[x], here[x], down[x]) + both;
        }
        for (int x = 0; x < W; ++x) b[x] = MIXED(x);
        for (int k = 0; k < 3; ++k) {
            add_square(s2, entries[k], W, uncoupled || k != 1 ? 1.0f : 2.0f, uncoupled || k == 0);
            if (!uncoupled) continue;
            diffusion_tensor(s2, 0, 0, W, law, kind, contrast);
            multiply(entries[k], s2, W);
        }
        if (uncoupled) continue;
        diffusion_tensor(s2, 0, 0, W, law, kind, contrast);
        for (int k = 0; k < 3; ++k) multiply(entries[k], s2, W);
    }
}

/* u -= tau (dxx (1 + dyy / 12) xx + 2 mu_x mu_y (1 - dxx / 12 - dyy / 12) xy + dyy (1 + dxx / 12) yy): the adjoint. */
void EXPORT(hessian_step)(PLANE u, VIEW xx, VIEW xy, VIEW yy, PLANE sum, int H, int W, float tau) {
    for (int y = 0; y < H; ++y) {
        {
            const float *here = xx + (y + 1) * (W + 2) + 1, *up = here - (W + 2), *down = here + (W + 2);
            for (int x = 0; x < W; ++x) {
                const float above = SECOND(up, x), middle = SECOND(here, x), below = SECOND(down, x);
                sum[x] = middle + ACROSS(above, middle, below) * (1.0f / 12.0f);
            }
        }
        {
            const float *here = yy + (y + 1) * (W + 2) + 1, *up = here - (W + 2), *down = here + (W + 2);
            for (int x = 0; x < W; ++x) {
                const float above = SECOND(up, x), middle = SECOND(here, x), below = SECOND(down, x);
                sum[x] += ACROSS(up[x], here[x], down[x]) + ACROSS(above, middle, below) * (1.0f / 12.0f);
            }
        }
        {
            const float *here = xy + (y + 2) * (W + 4) + 2, *up = here - (W + 4), *down = here + (W + 4);
            const float *up2 = up - (W + 4), *down2 = down + (W + 4);
            for (int x = 0; x < W; ++x) u[y * W + x] -= tau * (sum[x] + 2.0f * MIXED(x));
        }
    }
}
