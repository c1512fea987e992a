/* Memory for mutants: a block ends at a page that cannot be read or written, new memory is not zero, freed memory cannot be used
 * for a while, and allocations fail when Python tells them to. */
#ifndef RANKPROOF_GUARDED_H
#define RANKPROOF_GUARDED_H

#define _DEFAULT_SOURCE /* for MAP_ANONYMOUS */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../fuzz/faults.h"

#undef malloc
#undef calloc
#undef realloc

enum { PAGE = 4096, GUARD_BYTE = 0xA5, NEW_BYTE = 0xC3, KEPT_FREED = 256 };

/* A small buffer has no spare item, so that an item too many is outside of it. */
#define GROWN(wanted) ((wanted) <= 64 ? (wanted) : 2 * (wanted))

/* At the start of the pages of a block; GUARD_BYTE from there to the block. */
typedef struct {
    size_t size, bytes;
} Front;

static size_t blocks_in_use;

/* How many blocks are not freed yet. */
__attribute__((visibility("default"), used)) size_t count_blocks(void);
size_t count_blocks(void) { return blocks_in_use; }

/* The pages that were freed last, the oldest at `oldest`; nobody can read them. */
static struct {
    Front *pages[KEPT_FREED];
    size_t bytes[KEPT_FREED], oldest;
} freed;

static inline Front *front_of(void *block) { return (Front *)(((uintptr_t)block - sizeof(Front)) & ~(uintptr_t)(PAGE - 1)); }

/* So many bytes of new pages, or of pages that were freed long ago, and a page behind them that cannot be read. */
static inline unsigned char *guarded_pages(size_t bytes) {
    unsigned char *pages = (unsigned char *)freed.pages[freed.oldest];
    if (pages != NULL && freed.bytes[freed.oldest] == bytes) {
        freed.pages[freed.oldest] = NULL;
        if (mprotect(pages, bytes, PROT_READ | PROT_WRITE) != 0) abort();
        return pages;
    }
    pages = mmap(NULL, bytes + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return NULL;
    if (mprotect(pages + bytes, PAGE, PROT_NONE) != 0) abort();
    return pages;
}

static inline void *guarded_malloc(size_t size) {
    if (size > SIZE_MAX / 2 || allocation_fails()) return NULL;
    size_t bytes = (sizeof(Front) + size + PAGE - 1) / PAGE * PAGE;
    unsigned char *pages = guarded_pages(bytes);
    if (pages == NULL) return NULL;
    memset(pages, GUARD_BYTE, bytes - size);
    *(Front *)pages = (Front){size, bytes};
    blocks_in_use++;
    return memset(pages + bytes - size, NEW_BYTE, size);
}

static inline void guarded_free(void *block) {
    if (block == NULL) return;
    Front *front = front_of(block);
    size_t bytes = front->bytes;
    for (unsigned char *at = (unsigned char *)(front + 1); at < (unsigned char *)block; at++)
        if (*at != GUARD_BYTE) abort();
    if (mprotect(front, bytes, PROT_NONE) != 0) abort();
    if (freed.pages[freed.oldest] != NULL) munmap(freed.pages[freed.oldest], freed.bytes[freed.oldest] + PAGE);
    freed.pages[freed.oldest] = front;
    freed.bytes[freed.oldest] = bytes;
    freed.oldest = (freed.oldest + 1) % KEPT_FREED;
    blocks_in_use--;
}

static inline void *guarded_calloc(size_t count, size_t size) {
    if (size != 0 && count > SIZE_MAX / 2 / size) return NULL;
    void *block = guarded_malloc(count * size);
    return block == NULL ? NULL : memset(block, 0, count * size);
}

static inline void *guarded_realloc(void *block, size_t size) {
    void *larger = guarded_malloc(size);
    if (larger == NULL || block == NULL) return larger;
    size_t before = front_of(block)->size;
    memcpy(larger, block, before < size ? before : size);
    guarded_free(block);
    return larger;
}

#define malloc guarded_malloc
#define calloc guarded_calloc
#define realloc guarded_realloc
#define free guarded_free

#endif
