/* Blocks of memory with guards on both sides, for mutants: a write outside a block ends the process when the block is freed. */
#ifndef RANKPROOF_GUARDED_H
#define RANKPROOF_GUARDED_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 16, GUARD_BYTE = 0xA5, NEW_BYTE = 0xC3 };

typedef struct {
    size_t size;
    unsigned char padding[GUARD - sizeof(size_t)], guard[GUARD];
} Front;

static inline void *guarded_malloc(size_t size) {
    if (size > SIZE_MAX / 2) return NULL;
    Front *front = malloc(sizeof *front + size + GUARD);
    if (front == NULL) return NULL;
    front->size = size;
    memset(front->guard, GUARD_BYTE, GUARD);
    memset(front + 1, NEW_BYTE, size);
    memset((unsigned char *)(front + 1) + size, GUARD_BYTE, GUARD);
    return front + 1;
}

static inline void guarded_free(void *block) {
    if (block == NULL) return;
    Front *front = (Front *)block - 1;
    const unsigned char *behind = (unsigned char *)block + front->size;
    for (int i = 0; i < GUARD; i++)
        if (front->guard[i] != GUARD_BYTE || behind[i] != GUARD_BYTE) abort();
    free(front);
}

static inline void *guarded_calloc(size_t count, size_t size) {
    if (size != 0 && count > SIZE_MAX / 2 / size) return NULL;
    void *block = guarded_malloc(count * size);
    return block == NULL ? NULL : memset(block, 0, count * size);
}

static inline void *guarded_realloc(void *block, size_t size) {
    void *larger = guarded_malloc(size);
    if (larger == NULL || block == NULL) return larger;
    size_t before = ((Front *)block - 1)->size;
    memcpy(larger, block, before < size ? before : size);
    guarded_free(block);
    return larger;
}

#define malloc guarded_malloc
#define calloc guarded_calloc
#define realloc guarded_realloc
#define free guarded_free

#endif
