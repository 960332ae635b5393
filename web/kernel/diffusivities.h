/* Diffusivities g(s2) of a squared magnitude, written so that loops over them become vector code. */
#ifndef WHORL_DIFFUSIVITIES_H
#define WHORL_DIFFUSIVITIES_H

/* e^x - 1 = (2^n - 1) + 2^n tail for x <= 0, to about one unit in the last place; -87 and below count as -87. */
static inline float tail(float x, float *power) {
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
    union { int i; float f; } bits = { .i = ((int)n + 127) << 23 };
    *power = bits.f;
    return p * (r * r) + r;
}

/* e^x for x <= 0; 0 below -87, where float32 runs out of normal numbers. */
static inline float exponential_of(float x) {
    float power;
    const float t = tail(x, &power);
    return x < -87.0f ? 0.0f : (t + 1.0f) * power;
}

/* 1 - e^x for x <= 0, exact also where e^x is nearly 1. */
static inline float decay_of(float x) {
    float power;
    const float t = tail(x, &power);
    return (1.0f - power) - power * t;
}

/* The exponent of Weickert's diffusivity; below 0.2 the exponential is zero, and the fourth power must stay finite. */
static inline float steep(float x) {
    const float inverse = 1.0f / (x < 0.2f ? 0.2f : x), square = inverse * inverse;
    return -3.31488f * (square * square);
}

/* Every diffusivity once: its name in Python, and g as a function of x = s2 / contrast^2. A new one is a new line. */
#define DIFFUSIVITIES(ENTRY)                                             \
    ENTRY(homogeneous, 1.0f)                                              \
    ENTRY(exponential, exponential_of(-0.5f * x))                         \
    ENTRY(rational, 1.0f / (1.0f + x))                                    \
    ENTRY(charbonnier, 1.0f / __builtin_sqrtf(1.0f + x))                  \
    ENTRY(weickert, decay_of(steep(x)))                                   \
    ENTRY(tukey, x < 5.0f ? (1.0f - 0.2f * x) * (1.0f - 0.2f * x) : 0.0f) \
    ENTRY(tv, 1.0f / (contrast * __builtin_sqrtf(1.0f + x)))

#define NUMBER(name, g) KIND_##name,
enum { DIFFUSIVITIES(NUMBER) KINDS };
#undef NUMBER

/* g(s2); `scale` is 1 / contrast^2, prepared by the caller. */
static inline float diffusivity(int kind, float s2, float contrast, float scale) {
    const float x = s2 * scale;
    (void)contrast;
    switch (kind) {
#define VALUE(name, g) case KIND_##name: return g;
        DIFFUSIVITIES(VALUE)
#undef VALUE
    }
    return 1.0f;
}

#endif
