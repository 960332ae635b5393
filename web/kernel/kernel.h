/* Shared by the files of this folder: planes are float32, row by row, y first.
 *
 * image   H x W            u[y * W + x]
 * frame   (H+2) x (W+2)    the image with its half-sample mirror, one pixel wide
 * cells   (H+1) x (W+1)    one value per 2x2 cell of the frame; n = (H+1) * (W+1)
 */
#ifndef WHORL_KERNEL_H
#define WHORL_KERNEL_H

#define EXPORT(name) __attribute__((export_name(#name))) name
#define PLANE float *restrict
#define VIEW const float *restrict

/* Index of the mirrored pixel, for any distance outside: ... 1 0 | 0 1 ... n-1 | n-1 n-2 ... */
static inline int mirror(int i, int n) {
    const int period = 2 * n;
    i %= period;
    if (i < 0) i += period;
    return i < n ? i : period - 1 - i;
}

#endif
