/* Distinct byte strings, numbered from 0 in the order in which they are first added. */
#ifndef RANKPROOF_BM25_STRINGS_H
#define RANKPROOF_BM25_STRINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PADDING = 8 };
#define NO_ID UINT32_MAX

/* Makes room for `wanted` items of `size` bytes, at least doubling; false without memory. The array may be moved. */
static bool reserve(void **array, size_t *capacity, size_t wanted, size_t size) {
    if (wanted <= *capacity && *array != NULL) return true;
    size_t grown = *capacity < SIZE_MAX / 2 / size ? *capacity * 2 : SIZE_MAX / size;
    if (grown < wanted) grown = wanted;
    if (grown < 64) grown = 64;
    if (grown > SIZE_MAX / size) return false;
    void *moved = realloc(*array, grown * size);
    if (moved == NULL) return false;
    *array = moved;
    *capacity = grown;
    return true;
}

#define RESERVE(array, capacity, wanted) reserve((void **)&(array), &(capacity), (wanted), sizeof *(array))

/* `slots` is a hash table: the upper half of the hash, then the id plus one; 0 is free. String i ends at ends[i]. */
typedef struct {
    char *bytes;
    size_t used, bytes_capacity;
    uint64_t *ends;
    size_t count, ends_capacity;
    uint64_t *slots;
    size_t slot_count;
} Strings;

static void free_strings(Strings *strings) {
    free(strings->bytes);
    free(strings->ends);
    free(strings->slots);
}

static inline uint64_t start_of(const Strings *strings, size_t id) {
    return id == 0 ? 0 : strings->ends[id - 1];
}

/* The hash of a string that is followed by PADDING zeros. */
static inline uint64_t hash_of(const char *text, size_t size) {
    const uint64_t factor = 0x9E3779B97F4A7C15u;
    uint64_t hash = size * factor, word;
    for (size_t at = 0; at < size; at += 8) {
        memcpy(&word, text + at, 8);
        hash = (hash ^ word) * factor;
        hash ^= hash >> 29;
    }
    hash *= factor;
    return hash ^ hash >> 32;
}

/* Doubles the table; the ids keep their upper half of the hash, and the lower half is computed again. */
static bool grow_slots(Strings *strings) {
    size_t grown = strings->slot_count == 0 ? 1024 : strings->slot_count * 2;
    uint64_t *slots = calloc(grown, sizeof *slots);
    if (slots == NULL) return false;
    for (size_t old = 0; old < strings->slot_count; old++) {
        uint64_t slot = strings->slots[old];
        if (slot == 0) continue;
        size_t at = (size_t)(slot >> 32) & (grown - 1);
        while (slots[at] != 0) at = (at + 1) & (grown - 1);
        slots[at] = slot;
    }
    free(strings->slots);
    strings->slots = slots;
    strings->slot_count = grown;
    return true;
}

static bool append_string(Strings *strings, const char *text, size_t size) {
    if (!RESERVE(strings->bytes, strings->bytes_capacity, strings->used + size)) return false;
    if (!RESERVE(strings->ends, strings->ends_capacity, strings->count + 1)) return false;
    memcpy(strings->bytes + strings->used, text, size);
    strings->used += size;
    strings->ends[strings->count++] = strings->used;
    return true;
}

/* The id of a string that is followed by PADDING zeros, which is added if it is new; NO_ID without memory. */
static inline uint32_t id_of(Strings *strings, const char *text, size_t size) {
    if (strings->count >= INT32_MAX || (strings->count + 1 > strings->slot_count / 2 && !grow_slots(strings))) return NO_ID;
    uint64_t upper = hash_of(text, size) & 0xFFFFFFFFu;
    size_t mask = strings->slot_count - 1;
    for (size_t at = (size_t)(upper & mask);; at = (at + 1) & mask) {
        uint64_t slot = strings->slots[at];
        if (slot == 0) {
            if (!append_string(strings, text, size)) return NO_ID;
            strings->slots[at] = upper << 32 | strings->count;
            return (uint32_t)(strings->count - 1);
        }
        if (slot >> 32 != upper) continue;
        uint32_t id = (uint32_t)slot - 1;
        uint64_t start = start_of(strings, id);
        if (strings->ends[id] - start == size && memcmp(strings->bytes + start, text, size) == 0) return id;
    }
}

/* A string in the order of its bytes: its first eight as a number, then the rest. */
typedef struct {
    uint64_t head;
    const char *text;
    uint32_t size, id;
} SortedString;

static int compare_bytes(const char *one, size_t one_size, const char *other, size_t other_size) {
    int order = memcmp(one, other, one_size < other_size ? one_size : other_size);
    return order != 0 ? order : (one_size > other_size) - (one_size < other_size);
}

static int compare_sorted(const void *left, const void *right) {
    const SortedString *one = left, *other = right;
    if (one->head != other->head) return one->head < other->head ? -1 : 1;
    return compare_bytes(one->text, one->size, other->text, other->size);
}

/* All strings in the order of their bytes, to be freed; NULL without memory. */
static SortedString *sorted_strings(const Strings *strings) {
    SortedString *sorted = malloc((strings->count + 1) * sizeof *sorted);
    if (sorted == NULL) return NULL;
    for (size_t id = 0; id < strings->count; id++) {
        uint64_t start = start_of(strings, id), size = strings->ends[id] - start, head = 0;
        const char *text = strings->bytes + start;
        for (size_t at = 0; at < 8; at++) head = head << 8 | (at < size ? (unsigned char)text[at] : 0);
        sorted[id] = (SortedString){head, text, (uint32_t)size, (uint32_t)id};
    }
    qsort(sorted, strings->count, sizeof *sorted, compare_sorted);
    return sorted;
}

#endif
