// Loops over many numbers in the wide registers of a processor that has them.
#pragma once

/// Before a function: a clone of it for AVX2, chosen when the program starts.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define PTYCHE_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define PTYCHE_WIDE
#endif
