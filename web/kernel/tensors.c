/* From the structure tensor J to the diffusion tensor D = [[a, b], [b, c]], in place and cell by cell. */
#include "diffusivities.h"
#include "kernel.h"

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

/* D with the eigenvalue `last` along and `last + rise` across, where `gap` parts the eigenvalues of J. */
#define BETWEEN(last, rise, gap)                                                                        \
    const float secant = (gap) > 1e-38f ? (rise) / (gap) : 0.0f, centre = (last) + 0.5f * (rise);        \
    J11[i] = centre + secant * h;                                                                        \
    J12[i] = secant * J12[i];                                                                            \
    J22[i] = centre - secant * h;

/* g(mu_1) across edges and g(0) along them; nearly equal eigenvalues have no direction, and both get the mean. */
LOOP edge_enhancing(int kind, PLANE J11, PLANE J12, PLANE J22, int n, float contrast, float scale) {
    const float flat = diffusivity(kind, 0.0f, contrast, scale);
    for (int i = 0; i < n; ++i) {
        const float m = 0.5f * (J11[i] + J22[i]), h = 0.5f * (J11[i] - J22[i]);
        const float d = __builtin_sqrtf(h * h + J12[i] * J12[i]), mu = m + d, least = 1e-3f * mu;
        const float rise = diffusivity(kind, mu, contrast, scale) - flat, gap = 2.0f * d > least ? 2.0f * d : least;
        BETWEEN(flat, rise, gap)
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

/* a across lines and a + (1 - a) exp(-contrast^4 / (mu_1 - mu_2)^2) along them, a = 0.001. It sees h = (J11 - J22) / 2 in
 * the place of J11, and J12. A coherence below contrast^2 / 9 has an exponential of nothing. */
LOOP coherence_enhancing(int kind, PLANE J11, PLANE J12, PLANE J22, int n, float contrast, float scale) {
    (void)kind, (void)scale;
    const float across = 0.001f, power = contrast * contrast * (contrast * contrast), least = power * (1.0f / 81.0f);
    for (int i = 0; i < n; ++i) {
        const float h = J11[i], squared = 4.0f * (h * h + J12[i] * J12[i]); /* of the coherence */
        const float inverse = 1.0f / (squared < least ? least : squared);
        const float along = (1.0f - across) * exponential_of(-power * inverse), secant = -along * __builtin_sqrtf(inverse);
        J11[i] = across + 0.5f * along + secant * h;
        J12[i] = secant * J12[i];
        J22[i] = across + 0.5f * along - secant * h;
    }
}

/* s2 becomes g(s2), for models without a tensor. */
LOOP scalar(int kind, PLANE s2, PLANE unused, PLANE none, int n, float contrast, float scale) {
    (void)unused, (void)none;
    for (int i = 0; i < n; ++i) s2[i] = diffusivity(kind, s2[i], contrast, scale);
}

/* Every law once, by its name in Python. A new one is a new line and the loop above. */
#define LAWS(ENTRY)                                                                                      \
    ENTRY(isotropic, "isotropic")                                                                         \
    ENTRY(uncoupled, "uncoupled")                                                                         \
    ENTRY(anisotropic, "anisotropic")                                                                     \
    ENTRY(edge_enhancing, "edge-enhancing")                                                               \
    ENTRY(edge_continuing, "edge-continuing")                                                             \
    ENTRY(coherence_enhancing, "coherence-enhancing")                                                     \
    ENTRY(scalar, "scalar")

#define NUMBER(name, word) LAW_##name,
enum { LAWS(NUMBER) LAWS_COUNT };

int EXPORT(sees_trace)(int law) { return law != LAW_coherence_enhancing; }

/* The diffusivity is a constant in each call of this, so that each of them gets a loop of its own. */
LOOP by_law(int law, int kind, PLANE J11, PLANE J12, PLANE J22, int n, float contrast, float scale) {
    switch (law) {
#define BRANCH(name, word) case LAW_##name: name(kind, J11, J12, J22, n, contrast, scale); break;
        LAWS(BRANCH)
#undef BRANCH
    }
}

void EXPORT(diffusion_tensor)(PLANE J11, PLANE J12, PLANE J22, int n, int law, int kind, float contrast) {
    const float scale = 1.0f / (contrast * contrast);
    switch (kind) {
#define BRANCH(name, word, g) case KIND_##name: by_law(law, KIND_##name, J11, J12, J22, n, contrast, scale); break;
        DIFFUSIVITIES(BRANCH)
#undef BRANCH
    }
}

/* The names in the order of their numbers, for the page; 0 after the last. */
const char *EXPORT(diffusivity_name)(int kind) {
#define WORD(name, word, g) word,
    static const char *const words[] = { DIFFUSIVITIES(WORD) };
#undef WORD
    return kind < KINDS ? words[kind] : 0;
}

const char *EXPORT(law_name)(int law) {
#define WORD(name, word) word,
    static const char *const words[] = { LAWS(WORD) };
#undef WORD
    return law < LAWS_COUNT ? words[law] : 0;
}
