/* Diffusivities g(s2) of a squared magnitude, written so that loops over them become vector code. */
#ifndef WHORL_DIFFUSIVITIES_H
#define WHORL_DIFFUSIVITIES_H

/* 2^t - 1 = (2^n - 1) + 2^n tail for t <= 0, to about one unit in the last place; -100 and below count as -100. */
static inline float tail(float t, float *power) {
    typedef union { float f; unsigned i; } number;
    number cut = { .f = t }; /* negative floats are ordered by their bits */
    const unsigned least = 0xc2c80000u; /* -100 */
    cut.i = cut.i < least ? cut.i : least;
    const number whole = { .f = cut.f + 12582912.0f };   /* 1.5 * 2^23 + t: n is in the last bits */
    const float r = cut.f - (whole.f - 12582912.0f);     /* exact, at most 1/2 */
    float p = 1.5403512e-4f; /* (2^r - 1) / r, to 2e-8 */
    p = p * r + 1.3390735e-3f;
    p = p * r + 9.6182376e-3f;
    p = p * r + 5.5503573e-2f;
    p = p * r + 2.4022649e-1f;
    p = p * r + 6.9314718e-1f;
    const number bits = { .i = (whole.i << 23) + 0x3f800000u };
    *power = bits.f;
    return p * r;
}

#define LOG2_E 1.44269504f

/* 2^t for t <= 0, but never below 2^-100. */
static inline float power_of_two(float t) {
    float power;
    const float more = tail(t, &power);
    return more * power + power;
}

/* e^x for x <= 0. */
static inline float exponential_of(float x) { return power_of_two(LOG2_E * x); }

/* 1 - e^x for x <= 0, exact also where e^x is nearly 1. */
static inline float decay_of(float x) {
    float power;
    const float t = tail(LOG2_E * x, &power);
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
    ENTRY(exponential, power_of_two(-0.5f * LOG2_E * x))                  \
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
