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

/* s2 becomes g(s2), for models without a tensor. */
LOOP scalar(int kind, PLANE s2, PLANE unused, PLANE none, int n, float contrast, float scale) {
    (void)unused, (void)none;
    for (int i = 0; i < n; ++i) s2[i] = diffusivity(kind, s2[i], contrast, scale);
}

/* Every law once, by its name in Python. A new one is a new line and the loop above. */
#define LAWS(ENTRY) ENTRY(isotropic) ENTRY(uncoupled) ENTRY(anisotropic) ENTRY(scalar)

#define NUMBER(name) LAW_##name,
enum { LAWS(NUMBER) LAWS_COUNT };

/* The diffusivity is a constant in each call of this, so that each of them gets a loop of its own. */
LOOP by_law(int law, int kind, PLANE J11, PLANE J12, PLANE J22, int n, float contrast, float scale) {
    switch (law) {
#define BRANCH(name) case LAW_##name: name(kind, J11, J12, J22, n, contrast, scale); break;
        LAWS(BRANCH)
#undef BRANCH
    }
}

void EXPORT(diffusion_tensor)(PLANE J11, PLANE J12, PLANE J22, int n, int law, int kind, float contrast) {
    const float scale = 1.0f / (contrast * contrast);
    switch (kind) {
#define BRANCH(name, g) case KIND_##name: by_law(law, KIND_##name, J11, J12, J22, n, contrast, scale); break;
        DIFFUSIVITIES(BRANCH)
#undef BRANCH
    }
}

/* The names in the order of their numbers, for the page; 0 after the last. */
const char *EXPORT(diffusivity_name)(int kind) {
#define WORD(name, g) #name,
    static const char *const words[] = { DIFFUSIVITIES(WORD) };
#undef WORD
    return kind < KINDS ? words[kind] : 0;
}

const char *EXPORT(law_name)(int law) {
#define WORD(name) #name,
    static const char *const words[] = { LAWS(WORD) };
#undef WORD
    return law < LAWS_COUNT ? words[law] : 0;
}
