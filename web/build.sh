#!/usr/bin/env bash
# Compile the page's kernel to WebAssembly. Needs clang and lld with the wasm32 target (Debian: apt-get install clang lld).
# The result is committed, so only people who change web/kernel run this.
set -euo pipefail
cd "$(dirname "$0")"
out=../src/whorl/page/static
clang --target=wasm32 -std=c11 -O3 -msimd128 -mnontrapping-fptoint -mbulk-memory -ffreestanding -nostdlib \
  -ffp-contract=off -fno-math-errno -Wall -Wextra -Werror \
  -Wl,--no-entry -Wl,--strip-all -Wl,-z,stack-size=65536 -o "$out/kernel.wasm" kernel/*.c
chmod 644 "$out/kernel.wasm" # the linker marks it executable; it is a file of the page like any other
# The digest of the sources lets a test notice a binary that was not rebuilt.
cat kernel/*.h kernel/*.c | sha256sum | cut -d ' ' -f 1 > kernel.sha256
wc -c "$out/kernel.wasm"
