/* Second derivatives at the pixels, for the fourth order models. All take mirrored frames and give images. */
#include "kernel.h"

/* frame = image with its half-sample mirror around it. */
void EXPORT(extend)(PLANE frame, VIEW u, int H, int W) {
    for (int y = -1; y <= H; ++y) {
        const float *row = u + (y < 0 ? 0 : y < H ? y : H - 1) * W;
        float *out = frame + (y + 1) * (W + 2);
        out[0] = row[0];
        for (int x = 0; x < W; ++x) out[x + 1] = row[x];
        out[W + 1] = row[W - 1];
    }
}

/* out = Delta_alpha u: edges (1 - 2 alpha), corners alpha. alpha = 1/6 has an isotropic leading error. */
void EXPORT(laplacian)(PLANE out, VIEW frame, int H, int W, float alpha) {
    const float edge = 1.0f - 2.0f * alpha;
    for (int y = 0; y < H; ++y) {
        const float *up = frame + y * (W + 2), *here = up + W + 2, *down = here + W + 2;
        float *restrict row = out + y * W;
        for (int x = 0; x < W; ++x) {
            const float u = here[x + 1];
            const float edges = (here[x] - u) + (here[x + 2] - u) + (up[x + 1] - u) + (down[x + 1] - u);
            const float corners = (up[x] - u) + (up[x + 2] - u) + (down[x] - u) + (down[x + 2] - u);
            row[x] = edge * edges + alpha * corners;
        }
    }
}

/* Rows of a frame `width` wide around row y of the image, and the differences every entry of the Hessian is made of. */
#define NEIGHBOURHOOD(frame, y, width)                                                                              \
    const float *here = frame + ((y) + (width)) * (W + 2 * (width)) + (width);                                       \
    const float *up = here - (W + 2 * (width)), *down = here + (W + 2 * (width));
#define SECOND(row, x) ((row[(x) + 1] - row[x]) - (row[x] - row[(x) - 1]))
#define ACROSS(above, middle, below) (((below) - (middle)) - ((middle) - (above)))
#define CROSS(above, below, x, k) ((below[(x) + k] - below[(x) - k]) - (above[(x) + k] - above[(x) - k]))

/* mu_x mu_y (1 - dxx / 12 - dyy / 12): with D_jk the difference over j columns and k rows on either side, and
 * mu_x = D_10 / 2, mu_x dxx = D_20 / 2 - D_10, this is (16 D_11 - D_21 - D_12) / 48. */
#define MIXED(x)                                                                                                    \
    (CROSS(up, down, x, 1) * (1.0f / 3.0f) - (CROSS(up, down, x, 2) + CROSS(up2, down2, x, 1)) * (1.0f / 48.0f))

/* xx = dxx (1 + dyy / 12) u,  yy = dyy (1 + dxx / 12) u,  xy = mu_x mu_y (1 - dxx / 12 - dyy / 12) u, from a frame two
 * pixels wide. The mixed entry needs 5x5 pixels for the error of the other two, h^2 / 12 times their Laplacian. */
void EXPORT(hessian)(PLANE xx, PLANE xy, PLANE yy, VIEW frame, int H, int W) {
    for (int y = 0; y < H; ++y) {
        NEIGHBOURHOOD(frame, y, 2)
        const float *up2 = up - (W + 4), *down2 = down + (W + 4);
        for (int x = 0; x < W; ++x) {
            const float above = SECOND(up, x), middle = SECOND(here, x), below = SECOND(down, x);
            const float both = ACROSS(above, middle, below) * (1.0f / 12.0f);
            xx[y * W + x] = middle + both;
            yy[y * W + x] = ACROSS(up[x], here[x], down[x]) + both;
            xy[y * W + x] = MIXED(x);
        }
    }
}

/* out = dxx (1 + dyy / 12) xx + 2 mu_x mu_y (1 - dxx / 12 - dyy / 12) xy + dyy (1 + dxx / 12) yy: the adjoint, for the
 * three fluxes, xx and yy in frames one pixel wide, xy in an odd one two pixels wide. */
void EXPORT(hessian_adjoint)(PLANE out, VIEW xx, VIEW xy, VIEW yy, int H, int W) {
    for (int y = 0; y < H; ++y) {
        float *restrict row = out + y * W;
        {
            NEIGHBOURHOOD(xx, y, 1)
            for (int x = 0; x < W; ++x) {
                const float above = SECOND(up, x), middle = SECOND(here, x), below = SECOND(down, x);
                row[x] = middle + ACROSS(above, middle, below) * (1.0f / 12.0f);
            }
        }
        {
            NEIGHBOURHOOD(yy, y, 1)
            for (int x = 0; x < W; ++x) {
                const float above = SECOND(up, x), middle = SECOND(here, x), below = SECOND(down, x);
                row[x] += ACROSS(up[x], here[x], down[x]) + ACROSS(above, middle, below) * (1.0f / 12.0f);
            }
        }
        {
            NEIGHBOURHOOD(xy, y, 2)
            const float *up2 = up - (W + 4), *down2 = down + (W + 4);
            for (int x = 0; x < W; ++x) row[x] += 2.0f * MIXED(x);
        }
    }
}

/* sign^(number of borders between pixel i and the image) */
static inline float crossed(int i, int n, float sign) {
    const int borders = i < 0 ? (n - 1 - i) / n : i / n;
    return borders % 2 ? sign : 1.0f;
}

/* frame = image mirrored by two pixels, for any size. sign = 1: the mirror; sign = -1: the odd mirror, because the
 * mixed derivative of a mirrored image changes its sign across each border. */
void EXPORT(extend_two)(PLANE frame, VIEW u, int H, int W, float sign) {
    for (int y = -2; y < H + 2; ++y) {
        const float *row = u + mirror(y, H) * W, vertical = crossed(y, H, sign);
        float *restrict out = frame + (y + 2) * (W + 4) + 2;
        for (int x = 0; x < W; ++x) out[x] = vertical * row[x];
        for (int x = 1; x <= 2; ++x) {
            out[-x] = vertical * crossed(-x, W, sign) * row[mirror(-x, W)];
            out[W - 1 + x] = vertical * crossed(W - 1 + x, W, sign) * row[mirror(W - 1 + x, W)];
        }
    }
}

/* s2 += weight * v^2 */
void EXPORT(add_square)(PLANE s2, VIEW v, int n, float weight) {
    for (int i = 0; i < n; ++i) s2[i] += weight * (v[i] * v[i]);
}

/* v *= factor, plane by plane */
void EXPORT(multiply)(PLANE v, VIEW factor, int n) {
    for (int i = 0; i < n; ++i) v[i] *= factor[i];
}
