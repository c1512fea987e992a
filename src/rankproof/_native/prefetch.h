/* Reads memory into the cache before it is used, where the compiler can; the address need not be valid. */
#ifndef RANKPROOF_PREFETCH_H
#define RANKPROOF_PREFETCH_H

#if defined(__GNUC__) || defined(__clang__)
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define PREFETCH(address) ((void)(address))
#endif

#endif
