/* Shared by the files of this folder: planes are float32, row by row, y first.
 *
 * image   H x W            u[y * W + x]
 * cells   (H+1) x (W+1)    one value per 2x2 cell of the image with its half-sample mirror; n = (H+1) * (W+1)
 * frame   (H+2) x (W+2)    the image with that mirror, one pixel wide
 */
#ifndef WHORL_KERNEL_H
#define WHORL_KERNEL_H

#define EXPORT(name) __attribute__((export_name(#name))) name
#define PLANE float *restrict
#define VIEW const float *restrict

/* Four pixels side by side, at any address. */
typedef float quad __attribute__((vector_size(16), aligned(4)));
#define AT(row, x) (*(const quad *)((row) + (x)))
#define PUT(row, x) (*(quad *)((row) + (x)))

/* The last pixels of a row may be fewer than four: reading beyond them does no harm, as planes end with spare room. */
static inline void put(float *row, int x, int n, quad value) {
    if (x + 4 <= n) PUT(row, x) = value;
    else for (int l = 0; x + l < n; ++l) row[x + l] = value[l];
}

/* Index of the mirrored pixel, for any distance outside: ... 1 0 | 0 1 ... n-1 | n-1 n-2 ... */
static inline int mirror(int i, int n) {
    if (i >= 0 && i < n) return i;
    const int period = 2 * n;
    i %= period;
    if (i < 0) i += period;
    return i < n ? i : period - 1 - i;
}

/* tensors.c: what a law and a diffusivity make of structure tensors, in place. */
void diffusion_tensor(PLANE J11, PLANE J12, PLANE J22, int n, int law, int kind, float contrast);

/* tensors.c: whether a law sees the trace of J; if not, it gets (J11 - J22) / 2 and J12 alone. */
int sees_trace(int law);

#endif
