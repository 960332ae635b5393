/* A stack of planes: the page knows how much it needs before it starts, so nothing is ever freed singly. */
#include "kernel.h"

extern unsigned char __heap_base;
static unsigned long top = 0;

/* Forget all planes. */
void EXPORT(release)(void) { top = (unsigned long)&__heap_base; }

enum { SPARE = 16 }; /* floats behind every plane, which vectors may read and write */

/* A plane of `count` floats, aligned for vectors; 0 when the browser refuses the memory. */
float *EXPORT(plane)(unsigned long count) {
    if (top == 0) release();
    const unsigned long start = (top + 15) & ~15ul, end = start + 4 * (count + SPARE);
    const unsigned long have = __builtin_wasm_memory_size(0) << 16;
    if (end > have && __builtin_wasm_memory_grow(0, (end - have + 65535) >> 16) == ~0ul) return 0;
    top = end;
    return (float *)start;
}

void EXPORT(fill)(PLANE out, unsigned long count, float value) {
    for (unsigned long i = 0; i < count; ++i) out[i] = value;
}

/* out += factor * in */
void EXPORT(add)(PLANE out, VIEW in, unsigned long count, float factor) {
    for (unsigned long i = 0; i < count; ++i) out[i] += factor * in[i];
}
