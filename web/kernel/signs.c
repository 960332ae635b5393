/* Signs as good as random that turn with the picture (whorl.automatic.risk). */
#include "kernel.h"

/* Every bit depends on every bit of the key; the products overflow on purpose, and shifts keep the sign. */
static long long scrambled(long long key) {
    static const long long factors[] = { -0x61C8864680B583EBLL, -0x40A7B892E31B1A47LL };
    for (int k = 0; k < 2; ++k) key = (long long)((unsigned long long)(key ^ (key >> 29)) * (unsigned long long)factors[k]);
    return key ^ (key >> 32);
}

/* In the place of how many values are smaller, + 1 or - 1, by that number and the distances from the borders. */
void EXPORT(signs)(PLANE ranks, int H, int W) {
    for (int y = 0; y < H; ++y) {
        const long long near_y = scrambled((y < H - 1 - y ? y : H - 1 - y) + 1);
        for (int x = 0; x < W; ++x) {
            const long long near_x = scrambled((x < W - 1 - x ? x : W - 1 - x) + 1);
            float *at = ranks + y * W + x;
            const unsigned long long key = (unsigned long long)scrambled((long long)*at) + (unsigned long long)near_y + (unsigned long long)near_x;
            *at = scrambled((long long)key) & 1 ? 1.0f : -1.0f;
        }
    }
}
