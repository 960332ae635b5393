/* Diffusivities and laws of eigenvalues. Written by `python -m whorl.page.kernel`; do not edit. */
#ifndef WHORL_DIFFUSIVITIES_H
#define WHORL_DIFFUSIVITIES_H

#include "exponentials.h"

/* Diffusivities h(s2) less the power of the contrast before them; `scale` is 1 / contrast^2. */

static inline float h_exponential(float s2, float scale) {
    const float rate = -0.72134752f * scale;
    const float t1 = s2 * rate;
    const float t2 = power_of_two(t1);
    return t2;
}

static inline float h_rational(float s2, float scale) {
    const float rate = scale;
    const float t1 = s2 * rate + 1.0f;
    const float t2 = 1.0f / t1;
    return t2;
}

static inline float h_charbonnier(float s2, float scale) {
    const float rate = scale;
    const float t1 = s2 * rate + 1.0f;
    const float t2 = 1.0f / __builtin_sqrtf(t1);
    return t2;
}

static inline float h_weickert(float s2, float scale) {
    const float rate = scale;
    const float t1 = s2 * rate;
    const int t2 = t1 < 0.2f;
    const float t3 = t2 ? 0.2f : t1;
    const float t4 = t3 * t3;
    const float t5 = t4 * t4;
    const float t6 = -4.78236094f / t5;
    const float t7 = fall(t6);
    return t7;
}

static inline float h_tukey(float s2, float scale) {
    const float rate = scale;
    const float t1 = s2 * rate;
    const float t2 = -0.2f * t1 + 1.0f;
    const int t3 = t2 < 0.0f;
    const float t4 = t3 ? 0.0f : t2;
    const float t5 = t4 * t4;
    return t5;
}

static inline float h_tv(float s2, float scale) {
    const float rate = scale;
    const float t1 = s2 * rate + 1.0f;
    const float t2 = 1.0f / __builtin_sqrtf(t1);
    return t2;
}

static inline float h_homogeneous(float s2, float scale) {
    const float rate = scale;
    (void)s2, (void)rate;
    return 1.0f;
}

#define DIFFUSIVITIES(ENTRY) \
    ENTRY(exponential, "exponential", 1.0f) \
    ENTRY(rational, "rational", 1.0f) \
    ENTRY(charbonnier, "charbonnier", 1.0f) \
    ENTRY(weickert, "weickert", 1.0f) \
    ENTRY(tukey, "tukey", 1.0f) \
    ENTRY(tv, "tv", 1.0f / contrast) \
    ENTRY(homogeneous, "homogeneous", 1.0f)

#define NUMBER(name, word, front) KIND_##name,
enum { DIFFUSIVITIES(NUMBER) KINDS };
#undef NUMBER

static inline float shape(int kind, float s2, float scale) {
    switch (kind) {
#define VALUE(name, word, front) case KIND_##name: return h_##name(s2, scale);
        DIFFUSIVITIES(VALUE)
#undef VALUE
    }
    return 1.0f;
}

/* The power of the contrast. */
static inline float front(int kind, float contrast) {
    (void)contrast;
    switch (kind) {
#define VALUE(name, word, front) case KIND_##name: return front;
        DIFFUSIVITIES(VALUE)
#undef VALUE
    }
    return 1.0f;
}

/* The mean of both eigenvalues of a diffusion tensor, and the first less the last, by those of the structure tensor. */

static inline void spectrum_edge_enhancing(int kind, float mu1, float mu2, float gap, float rate, float *both) {
    const float floor = 0.0f;
    (void)kind, (void)mu1, (void)mu2, (void)gap, (void)rate, (void)floor;
    const float t1 = shape(kind, mu1, rate);
    const float t2 = t1 - 1.0f;
    const float t3 = 0.5f * t2 + 1.0f;
    both[0] = t3, both[1] = t2;
}

static inline void spectrum_coherence_enhancing(int kind, float mu1, float mu2, float gap, float rate, float *both) {
    const float floor = 0.001f;
    (void)kind, (void)mu1, (void)mu2, (void)gap, (void)rate, (void)floor;
    const float t1 = gap * rate;
    const int t2 = t1 < 0.0333333333f;
    const float t3 = 1.0f - floor;
    const float t4 = t2 ? 1.0f : t1;
    const float t5 = 1.0f / t4;
    const float t6 = -1.44269504f * t5;
    const float t7 = t6 * t5;
    const float t8 = power_of_two(t7);
    const float t9 = t3 * t8;
    const float t10 = t2 ? 0.0f : t9;
    const float t11 = 0.5f * t10 + floor;
    const float t12 = -t10;
    both[0] = t11, both[1] = t12;
}

/* The least gap as a share of mu1; whether it looks at more than the gap; whether it has a diffusivity. */
#define SPECTRA(ENTRY) \
    ENTRY(edge_enhancing, "edge-enhancing", 0.001f, 1, 1) \
    ENTRY(coherence_enhancing, "coherence-enhancing", 0.0f, 0, 0)

#endif
