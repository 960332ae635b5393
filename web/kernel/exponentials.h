/* Powers of two, written so that loops over them become vector code. */
#ifndef WHORL_EXPONENTIALS_H
#define WHORL_EXPONENTIALS_H

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

/* 2^t for t <= 0, but never below 2^-100. */
static inline float power_of_two(float t) {
    float power;
    const float more = tail(t, &power);
    return more * power + power;
}

#define LOG2_E 1.44269504f

/* e^x for x <= 0. */
static inline float exponential_of(float x) { return power_of_two(LOG2_E * x); }

/* 1 - 2^t for t <= 0, exact also where 2^t is nearly 1. */
static inline float fall(float t) {
    float power;
    const float more = tail(t, &power);
    return (1.0f - power) - power * more;
}

#endif
