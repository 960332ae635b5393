/* Diffusivities g(s2) of a squared magnitude, written so that loops over them become vector code. */
#ifndef WHORL_DIFFUSIVITIES_H
#define WHORL_DIFFUSIVITIES_H

enum { HOMOGENEOUS, EXPONENTIAL, RATIONAL, CHARBONNIER };

/* e^x for x <= 0, to about one unit in the last place; 0 below -87, where float32 runs out of normal numbers. */
static inline float exponential(float x) {
    const float cut = x < -87.0f ? -87.0f : x;
    const float whole = cut * 1.44269504f + 12582912.0f; /* adding 1.5 * 2^23 rounds to an integer */
    const float n = whole - 12582912.0f;
    const float r = (cut - n * 0.693359375f) + n * 2.12194440e-4f; /* ln 2 in two parts: r is exact to half an ulp */
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    union { int i; float f; } power = { .i = ((int)n + 127) << 23 };
    const float value = (p * (r * r) + r + 1.0f) * power.f;
    return x < -87.0f ? 0.0f : value;
}

/* g(s2); `scale` is 1 / contrast^2, prepared by the caller. */
static inline float diffusivity(int kind, float s2, float scale) {
    switch (kind) {
        case EXPONENTIAL: return exponential(-0.5f * s2 * scale);
        case RATIONAL: return 1.0f / (1.0f + s2 * scale);
        case CHARBONNIER: return 1.0f / __builtin_sqrtf(1.0f + s2 * scale);
        default: return 1.0f;
    }
}

/* Call an inlined loop with the kind as a constant, so that each diffusivity gets a loop of its own. */
#define BY_KIND(loop, kind, ...)                                     \
    switch (kind) {                                                  \
        case EXPONENTIAL: loop(EXPONENTIAL, __VA_ARGS__); break;     \
        case RATIONAL: loop(RATIONAL, __VA_ARGS__); break;           \
        case CHARBONNIER: loop(CHARBONNIER, __VA_ARGS__); break;     \
        default: loop(HOMOGENEOUS, __VA_ARGS__); break;              \
    }
#define LOOP static inline __attribute__((always_inline)) void

#endif
