/* Second derivatives at the pixels, for the fourth order models. All take mirrored frames and give images. */
#include "kernel.h"

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

/* Sums over a 3x3 neighbourhood that every entry of the Hessian is made of. */
#define NEIGHBOURHOOD(frame, y)                                                            \
    const float *up = frame + (y) * (W + 2), *here = up + W + 2, *down = here + W + 2;
#define SECOND(row, x) ((row[x + 2] - row[x + 1]) - (row[x + 1] - row[x]))
#define ACROSS(above, middle, below) (((below) - (middle)) - ((middle) - (above)))

/* xx = dxx (1 + dyy / 12) u,  yy = dyy (1 + dxx / 12) u,  xy = mu_x mu_y u. */
void EXPORT(hessian)(PLANE xx, PLANE xy, PLANE yy, VIEW frame, int H, int W) {
    for (int y = 0; y < H; ++y) {
        NEIGHBOURHOOD(frame, y)
        for (int x = 0; x < W; ++x) {
            const float above = SECOND(up, x), middle = SECOND(here, x), below = SECOND(down, x);
            const float both = ACROSS(above, middle, below) * (1.0f / 12.0f);
            xx[y * W + x] = middle + both;
            yy[y * W + x] = ACROSS(up[x + 1], here[x + 1], down[x + 1]) + both;
            xy[y * W + x] = 0.25f * ((down[x + 2] - down[x]) - (up[x + 2] - up[x]));
        }
    }
}

/* out = dxx (1 + dyy / 12) xx + 2 mu_x mu_y xy + dyy (1 + dxx / 12) yy: the adjoint, for frames of the three fluxes. */
void EXPORT(hessian_adjoint)(PLANE out, VIEW xx, VIEW xy, VIEW yy, int H, int W) {
    for (int y = 0; y < H; ++y) {
        float *restrict row = out + y * W;
        {
            NEIGHBOURHOOD(xx, y)
            for (int x = 0; x < W; ++x) {
                const float above = SECOND(up, x), middle = SECOND(here, x), below = SECOND(down, x);
                row[x] = middle + ACROSS(above, middle, below) * (1.0f / 12.0f);
            }
        }
        {
            NEIGHBOURHOOD(yy, y)
            for (int x = 0; x < W; ++x) {
                const float above = SECOND(up, x), middle = SECOND(here, x), below = SECOND(down, x);
                row[x] += ACROSS(up[x + 1], here[x + 1], down[x + 1]) + ACROSS(above, middle, below) * (1.0f / 12.0f);
            }
        }
        {
            NEIGHBOURHOOD(xy, y)
            (void)here;
            for (int x = 0; x < W; ++x) row[x] += 0.5f * ((down[x + 2] - down[x]) - (up[x + 2] - up[x]));
        }
    }
}

/* frame = image with its odd mirror: the mixed derivative of a mirrored image changes its sign across each border. */
void EXPORT(extend_odd)(PLANE frame, VIEW u, int H, int W) {
    for (int y = -1; y <= H; ++y) {
        const float sign = y < 0 || y == H ? -1.0f : 1.0f;
        const float *row = u + (y < 0 ? 0 : y < H ? y : H - 1) * W;
        float *restrict out = frame + (y + 1) * (W + 2);
        out[0] = -sign * row[0];
        for (int x = 0; x < W; ++x) out[x + 1] = sign * row[x];
        out[W + 1] = -sign * row[W - 1];
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
