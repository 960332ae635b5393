/* From the structure tensor J to the diffusion tensor D = [[a, b], [b, c]], in place and cell by cell. */
#include "diffusivities.h"
#include "kernel.h"

/* g(s2); `scale` is 1 / contrast^2, prepared by the caller. */
static inline float diffusivity(int kind, float s2, float contrast, float scale) {
    return front(kind, contrast) * shape(kind, s2, scale);
}

#define LOOP static inline __attribute__((always_inline)) void

/* D = g(tr J) I */
LOOP isotropic(int kind, PLANE J11, PLANE J12, PLANE J22, int n, float contrast, float scale) {
    for (int i = 0; i < n; ++i) {
        const float g = diffusivity(kind, J11[i] + J22[i], contrast, scale);
        J11[i] = g;
        J12[i] = 0.0f;
        J22[i] = g;
    }
}

/* D = diag(g(J11), g(J22)): every direction for itself, which is what breaks the invariance. */
LOOP uncoupled(int kind, PLANE J11, PLANE J12, PLANE J22, int n, float contrast, float scale) {
    for (int i = 0; i < n; ++i) {
        J11[i] = diffusivity(kind, J11[i], contrast, scale);
        J12[i] = 0.0f;
        J22[i] = diffusivity(kind, J22[i], contrast, scale);
    }
}

/* D = g(J): g acts on both eigenvalues m + d and m - d; D = mean I + slope (J - m I) takes these values there. */
LOOP anisotropic(int kind, PLANE J11, PLANE J12, PLANE J22, int n, float contrast, float scale) {
    for (int i = 0; i < n; ++i) {
        const float m = 0.5f * (J11[i] + J22[i]), h = 0.5f * (J11[i] - J22[i]);
        const float d = __builtin_sqrtf(h * h + J12[i] * J12[i]);
        const float small = m > d ? m - d : 0.0f;
        const float high = diffusivity(kind, m + d, contrast, scale);
        const float low = diffusivity(kind, small, contrast, scale);
        const float mean = 0.5f * (high + low);
        const float slope = d > 0.0f ? 0.5f * (high - low) / d : 0.0f; /* d = 0: J = m I, so any slope does */
        J11[i] = mean + slope * h;
        J12[i] = slope * J12[i];
        J22[i] = mean - slope * h;
    }
}

/* (contrast^2 + mu_2) / (contrast^2 + mu_1) across edges and 1 along them: the inverse of contrast^2 I + J, scaled. */
LOOP edge_continuing(int kind, PLANE J11, PLANE J12, PLANE J22, int n, float contrast, float scale) {
    (void)kind, (void)scale;
    const float squared = contrast * contrast;
    for (int i = 0; i < n; ++i) {
        const float m = 0.5f * (J11[i] + J22[i]), h = 0.5f * (J11[i] - J22[i]);
        const float share = 1.0f / (squared + m + __builtin_sqrtf(h * h + J12[i] * J12[i])), a = J11[i];
        J11[i] = (squared + J22[i]) * share;
        J12[i] = -J12[i] * share;
        J22[i] = (squared + a) * share;
    }
}

/* A law of eigenvalues: D = mean I + secant (J - m I), where nearly equal eigenvalues, which have no direction, both get
 * the mean. A law that does not look at the trace sees (J11 - J22) / 2 in the place of J11. */
#define SPECTRAL(name, word, together, trace, shaped)                                                              \
    LOOP name(int kind, PLANE J11, PLANE J12, PLANE J22, int n, float contrast, float scale) {                      \
        const float before = shaped ? front(kind, contrast) : 1.0f;                                                 \
        for (int i = 0; i < n; ++i) {                                                                               \
            const float m = trace ? 0.5f * (J11[i] + J22[i]) : 0.0f, h = trace ? 0.5f * (J11[i] - J22[i]) : J11[i]; \
            const float d = __builtin_sqrtf(h * h + J12[i] * J12[i]), mu1 = m + d, mu2 = m > d ? m - d : 0.0f;      \
            const float least = (together) * mu1, gap = 2.0f * d > least ? 2.0f * d : least;                        \
            float both[2];                                                                                          \
            spectrum_##name(kind, mu1, mu2, 2.0f * d, scale, both);                                                 \
            const float mean = before * both[0], secant = gap > 1e-38f ? before * both[1] / gap : 0.0f;             \
            J11[i] = mean + secant * h;                                                                             \
            J12[i] = secant * J12[i];                                                                               \
            J22[i] = mean - secant * h;                                                                             \
        }                                                                                                           \
    }

SPECTRA(SPECTRAL)

/* s2 becomes g(s2), for models without a tensor. */
LOOP scalar(int kind, PLANE s2, PLANE unused, PLANE none, int n, float contrast, float scale) {
    (void)unused, (void)none;
    for (int i = 0; i < n; ++i) s2[i] = diffusivity(kind, s2[i], contrast, scale);
}

/* Every law once, by its name in Python. A new one is a new line and the loop above, unless it is a law of eigenvalues. */
#define LAWS(ENTRY)                         \
    ENTRY(isotropic, "isotropic")             \
    ENTRY(uncoupled, "uncoupled")             \
    ENTRY(anisotropic, "anisotropic")         \
    ENTRY(edge_continuing, "edge-continuing") \
    ENTRY(scalar, "scalar")

#define NUMBER(name, ...) LAW_##name,
enum { LAWS(NUMBER) SPECTRA(NUMBER) LAWS_COUNT };

int EXPORT(sees_trace)(int law) {
    switch (law) {
#define BRANCH(name, word, together, trace, shaped) case LAW_##name: return trace;
        SPECTRA(BRANCH)
#undef BRANCH
    }
    return 1;
}

/* The diffusivity is a constant in each call of this, so that each of them gets a loop of its own. */
LOOP by_law(int law, int kind, PLANE J11, PLANE J12, PLANE J22, int n, float contrast, float scale) {
    switch (law) {
#define BRANCH(name, ...) case LAW_##name: name(kind, J11, J12, J22, n, contrast, scale); break;
        LAWS(BRANCH)
        SPECTRA(BRANCH)
#undef BRANCH
    }
}

void EXPORT(diffusion_tensor)(PLANE J11, PLANE J12, PLANE J22, int n, int law, int kind, float contrast) {
    const float scale = 1.0f / (contrast * contrast);
    switch (kind) {
#define BRANCH(name, ...) case KIND_##name: by_law(law, KIND_##name, J11, J12, J22, n, contrast, scale); break;
        DIFFUSIVITIES(BRANCH)
#undef BRANCH
    }
}

/* The names in the order of their numbers, for the page; 0 after the last. */
const char *EXPORT(diffusivity_name)(int kind) {
#define WORD(name, word, ...) word,
    static const char *const words[] = { DIFFUSIVITIES(WORD) };
#undef WORD
    return kind < KINDS ? words[kind] : 0;
}

const char *EXPORT(law_name)(int law) {
#define WORD(name, word, ...) word,
    static const char *const words[] = { LAWS(WORD) SPECTRA(WORD) };
#undef WORD
    return law < LAWS_COUNT ? words[law] : 0;
}
