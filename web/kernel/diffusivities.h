/* Diffusivities g(s2) of a squared magnitude. Written by `python -m whorl.page.kernel`; do not edit. */
#ifndef WHORL_DIFFUSIVITIES_H
#define WHORL_DIFFUSIVITIES_H

#include "exponentials.h"

static inline float g_exponential(float s2, float scale) {
    const float rate = -0.72134752f * scale;
    const float t1 = s2 * rate;
    const float t2 = power_of_two(t1);
    return t2;
}

static inline float g_rational(float s2, float scale) {
    const float rate = scale;
    const float t1 = s2 * rate + 1.0f;
    const float t2 = 1.0f / t1;
    return t2;
}

static inline float g_charbonnier(float s2, float scale) {
    const float rate = scale;
    const float t1 = s2 * rate + 1.0f;
    const float t2 = 1.0f / __builtin_sqrtf(t1);
    return t2;
}

static inline float g_weickert(float s2, float scale) {
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

static inline float g_tukey(float s2, float scale) {
    const float rate = scale;
    const float t1 = s2 * rate;
    const float t2 = -0.2f * t1 + 1.0f;
    const int t3 = t2 < 0.0f;
    const float t4 = t3 ? 0.0f : t2;
    const float t5 = t4 * t4;
    return t5;
}

static inline float g_tv(float s2, float scale) {
    const float rate = scale;
    const float t1 = s2 * rate + 1.0f;
    const float t2 = 1.0f / __builtin_sqrtf(t1);
    return t2;
}

static inline float g_homogeneous(float s2, float scale) {
    const float rate = scale;
    (void)s2, (void)rate;
    return 1.0f;
}

#define DIFFUSIVITIES(ENTRY) \
    ENTRY(exponential, "exponential", g_exponential(s2, scale)) \
    ENTRY(rational, "rational", g_rational(s2, scale)) \
    ENTRY(charbonnier, "charbonnier", g_charbonnier(s2, scale)) \
    ENTRY(weickert, "weickert", g_weickert(s2, scale)) \
    ENTRY(tukey, "tukey", g_tukey(s2, scale)) \
    ENTRY(tv, "tv", g_tv(s2, scale) / contrast) \
    ENTRY(homogeneous, "homogeneous", g_homogeneous(s2, scale))

#define NUMBER(name, word, g) KIND_##name,
enum { DIFFUSIVITIES(NUMBER) KINDS };
#undef NUMBER

/* g(s2); `scale` is 1 / contrast^2, prepared by the caller. */
static inline float diffusivity(int kind, float s2, float contrast, float scale) {
    (void)contrast;
    switch (kind) {
#define VALUE(name, word, g) case KIND_##name: return g;
        DIFFUSIVITIES(VALUE)
#undef VALUE
    }
    return 1.0f;
}

#endif
