/* Filling in: what is known is put back after every step, and steps are extrapolated (fast semi-iterative scheme). */
#include "kernel.h"

/* u becomes a u + (1 - a) before where the mask says so, and the known value f elsewhere. */
void EXPORT(extrapolate)(PLANE u, VIEW before, VIEW f, VIEW mask, int n, float a) {
    for (int i = 0; i < n; ++i) u[i] = mask[i] != 0.0f ? a * u[i] + (1.0f - a) * before[i] : f[i];
}

/* The largest change between two planes. */
float EXPORT(largest_change)(VIEW u, VIEW before, int n) {
    float largest = 0.0f;
    for (int i = 0; i < n; ++i) {
        const float d = __builtin_fabsf(u[i] - before[i]);
        largest = d > largest ? d : largest;
    }
    return largest;
}
