/* From the structure tensor J to the diffusion tensor D = [[a, b], [b, c]], in place and cell by cell. */
#include "diffusivities.h"
#include "kernel.h"

LOOP isotropic_loop(int kind, PLANE J11, PLANE J12, PLANE J22, int n, float scale) {
    for (int i = 0; i < n; ++i) {
        const float g = diffusivity(kind, J11[i] + J22[i], scale);
        J11[i] = g;
        J12[i] = 0.0f;
        J22[i] = g;
    }
}

LOOP uncoupled_loop(int kind, PLANE J11, PLANE J12, PLANE J22, int n, float scale) {
    for (int i = 0; i < n; ++i) {
        J11[i] = diffusivity(kind, J11[i], scale);
        J12[i] = 0.0f;
        J22[i] = diffusivity(kind, J22[i], scale);
    }
}

/* Eigenvalues of J are m + d and m - d; D = mean I + slope (J - m I) takes the values `high` and `low` there. */
LOOP anisotropic_loop(int kind, PLANE J11, PLANE J12, PLANE J22, int n, float scale) {
    for (int i = 0; i < n; ++i) {
        const float m = 0.5f * (J11[i] + J22[i]), h = 0.5f * (J11[i] - J22[i]);
        const float d = __builtin_sqrtf(h * h + J12[i] * J12[i]);
        const float small = m > d ? m - d : 0.0f;
        const float high = diffusivity(kind, m + d, scale);
        const float low = diffusivity(kind, small, scale);
        const float mean = 0.5f * (high + low);
        const float slope = d > 0.0f ? 0.5f * (high - low) / d : 0.0f; /* d = 0: J = m I, so any slope does */
        J11[i] = mean + slope * h;
        J12[i] = slope * J12[i];
        J22[i] = mean - slope * h;
    }
}

/* D = g(tr J) I */
void EXPORT(isotropic)(PLANE J11, PLANE J12, PLANE J22, int n, int kind, float contrast) {
    BY_KIND(isotropic_loop, kind, J11, J12, J22, n, 1.0f / (contrast * contrast))
}

/* D = diag(g(J11), g(J22)): every direction for itself, which is what breaks the invariance. */
void EXPORT(uncoupled)(PLANE J11, PLANE J12, PLANE J22, int n, int kind, float contrast) {
    BY_KIND(uncoupled_loop, kind, J11, J12, J22, n, 1.0f / (contrast * contrast))
}

/* D = g(J): g acts on both eigenvalues. */
void EXPORT(anisotropic)(PLANE J11, PLANE J12, PLANE J22, int n, int kind, float contrast) {
    BY_KIND(anisotropic_loop, kind, J11, J12, J22, n, 1.0f / (contrast * contrast))
}

LOOP scalar_loop(int kind, PLANE s2, int n, float scale) {
    for (int i = 0; i < n; ++i) s2[i] = diffusivity(kind, s2[i], scale);
}

/* s2 becomes g(s2). */
void EXPORT(scalar)(PLANE s2, int n, int kind, float contrast) {
    BY_KIND(scalar_loop, kind, s2, n, 1.0f / (contrast * contrast))
}
