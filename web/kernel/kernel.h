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
#define INLINE static inline __attribute__((always_inline))

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

/* Both derivatives and the detail of four cells, or their fluxes. */
typedef struct { quad p, q, r; } quads;

/* J += weight * [[p^2 + e r^2, p q], [p q, q^2 + e r^2]], e = 1 - 2 alpha, in three rows; the first one is not added to
 * anything. Laws that do not see the trace get (J11 - J22) / 2 in the place of J11, and nothing in that of J22. */
INLINE void add_structure(float *J11, float *J12, float *J22, int i, quads d, float e, float weight, int first, int trace) {
    const quad none = { 0 }, rest = e * (d.r * d.r), pp = d.p * d.p, qq = d.q * d.q;
    PUT(J11, i) = (first ? none : AT(J11, i)) + weight * (trace ? pp + rest : 0.5f * (pp - qq));
    PUT(J12, i) = (first ? none : AT(J12, i)) + weight * (d.p * d.q);
    if (trace) PUT(J22, i) = (first ? none : AT(J22, i)) + weight * (qq + rest);
}

/* a p + b q, b p + c q and mu r, mu = e (a + c - 2 gamma |b|). */
INLINE quads fluxes(quads d, quad a, quad b, quad c, float e, float gamma) {
    return (quads){ a * d.p + b * d.q, b * d.p + c * d.q, e * (a + c - 2.0f * gamma * __builtin_wasm_abs_f32x4(b)) * d.r };
}

/* tensors.c: what a law and a diffusivity make of structure tensors, in place. */
void diffusion_tensor(PLANE J11, PLANE J12, PLANE J22, int n, int law, int kind, float contrast);

/* tensors.c: whether a law sees the trace of J; if not, it gets (J11 - J22) / 2 and J12 alone. */
int sees_trace(int law);

#endif
