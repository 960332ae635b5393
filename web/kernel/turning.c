/* Pictures under turns: samples between the pixels, from sixteen neighbours. */
#include "kernel.h"

/* Four weights of cubic convolution (Keys 1981) for a point t in [0, 1) between the second and the third sample. */
static inline void keys(float t, float w[4]) {
    w[0] = ((-0.5f * t + 1.0f) * t - 0.5f) * t;
    w[1] = (1.5f * t - 2.5f) * t * t + 1.0f;
    w[2] = ((-1.5f * t + 2.0f) * t + 0.5f) * t;
    w[3] = (0.5f * t - 0.5f) * t * t;
}

/* Uniform cubic B-spline weights, for coefficients prepared by `spline_coefficients`. */
static inline void spline(float t, float w[4]) {
    const float s = 1.0f - t;
    w[0] = (s * s * s) * (1.0f / 6.0f);
    w[1] = 2.0f / 3.0f - t * t * (1.0f - 0.5f * t);
    w[2] = 2.0f / 3.0f - s * s * (1.0f - 0.5f * s);
    w[3] = (t * t * t) * (1.0f / 6.0f);
}

/* `plane` (h x w) at the pixels of a size x size view, turned about both centres; (cos, sin) is the direction of the view's
 * x-axis in samples of the plane. */
void EXPORT(sample)(PLANE out, VIEW plane, int h, int w, int size, double cos, double sin, int by_spline) {
    const double middle = 0.5 * (size - 1);
    for (int y = 0; y < size; ++y)
        for (int x = 0; x < size; ++x) {
            const double dx = x - middle, dy = y - middle;
            const double sx = cos * dx - sin * dy + 0.5 * (w - 1), sy = sin * dx + cos * dy + 0.5 * (h - 1);
            const int ix = (int)__builtin_floor(sx), iy = (int)__builtin_floor(sy);
            float across[4], down[4];
            (by_spline ? spline : keys)((float)(sx - ix), across);
            (by_spline ? spline : keys)((float)(sy - iy), down);
            quad sum = { 0.0f };
            for (int k = 0; k < 4; ++k) {
                const float *row = plane + mirror(iy - 1 + k, h) * w;
                quad four;
                if (ix >= 1 && ix + 2 < w) four = *(const quad *)(row + ix - 1);
                else for (int l = 0; l < 4; ++l) four[l] = row[mirror(ix - 1 + l, w)];
                sum += down[k] * four;
            }
            sum *= *(const quad *)across;
            out[y * size + x] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
        }
}

#define POLE -0.26794919f /* sqrt(3) - 2 */
enum { FAR = 24 }; /* samples after which the powers of the pole vanish */

/* One line: two recursions, with the half-sample mirror (Unser 1999). */
static void along_row(float *c, int n) {
    float sum = 0.0f, power = POLE;
    for (int k = 0; k < n && k < FAR; ++k, power *= POLE) sum += power * c[k];
    float previous = c[0] += sum;
    for (int k = 1; k < n; ++k) previous = c[k] += POLE * previous;
    previous = c[n - 1] *= POLE / (POLE - 1.0f);
    for (int k = n - 2; k >= 0; --k) previous = c[k] = POLE * (previous - c[k]);
}

/* The same for all columns, row by row. */
static void along_columns(float *c, int h, int w) {
    float power = POLE * POLE;
    for (int x = 0; x < w; ++x) c[x] *= 1.0f + POLE;
    for (int k = 1; k < h && k < FAR; ++k, power *= POLE)
        for (int x = 0; x < w; ++x) c[x] += power * c[k * w + x];
    for (int k = 1; k < h; ++k)
        for (int x = 0; x < w; ++x) c[k * w + x] += POLE * c[(k - 1) * w + x];
    for (int x = 0; x < w; ++x) c[(h - 1) * w + x] *= POLE / (POLE - 1.0f);
    for (int k = h - 2; k >= 0; --k)
        for (int x = 0; x < w; ++x) c[k * w + x] = POLE * (c[(k + 1) * w + x] - c[k * w + x]);
}

/* The plane becomes the coefficients c with sum c_k B3(x - k) = u at the samples. */
void EXPORT(spline_coefficients)(float *c, int h, int w) {
    for (int i = 0; i < h * w; ++i) c[i] *= 36.0f;
    for (int y = 0; y < h; ++y) along_row(c + y * w, w);
    along_columns(c, h, w);
}
