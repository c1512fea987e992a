/* A set of ids that keeps the order in which they came. */
#ifndef RANKPROOF_NAMES_H
#define RANKPROOF_NAMES_H

#include "hash.h"

#define NOT_FOUND SIZE_MAX
#define MOST_ITEMS ((size_t)UINT32_MAX / 4)

typedef struct {
    uint64_t hash;
    size_t at;
    size_t size;
} Name;

typedef struct {
    Name *items;
    size_t count, capacity;
    char *text;
    size_t text_size, text_capacity;
    uint32_t *slots; /* index + 1, 0 where empty */
    size_t slots_count;
} Names;

static inline void names_free(Names *names) {
    free(names->items);
    free(names->text);
    free(names->slots);
}

static inline Slice name_at(const Names *names, size_t index) {
    return (Slice){names->text + names->items[index].at, names->items[index].size};
}

/* Room for one more text of this size at the end of *text, and PADDING after it. */
static inline Outcome text_room(char **text, size_t *capacity, size_t used, size_t size) {
    return grow((void **)text, capacity, used + size + PADDING, 1);
}

/* A copy of a text, padded, in memory that grows. */
static inline Outcome copy_padded(char **copy, size_t *size, size_t *capacity, Slice text) {
    TRY(text_room(copy, capacity, 0, text.size));
    memcpy(*copy, text.at, text.size);
    memset(*copy + text.size, 0, PADDING);
    *size = text.size;
    return DONE;
}

/* The index of an id, which must be padded, or NOT_FOUND. */
static inline size_t names_find(const Names *names, Slice id, uint64_t hash) {
    if (names->slots_count == 0) return NOT_FOUND;
    size_t mask = names->slots_count - 1, slot = (size_t)(hash & mask);
    for (; names->slots[slot] != 0; slot = (slot + 1) & mask) {
        const Name *name = &names->items[names->slots[slot] - 1];
        if (name->hash == hash && name->size == id.size && same_padded(names->text + name->at, id.at, id.size))
            return names->slots[slot] - 1;
    }
    return NOT_FOUND;
}

static inline void names_place(Names *names, size_t index) {
    size_t mask = names->slots_count - 1, slot = (size_t)(names->items[index].hash & mask);
    while (names->slots[slot] != 0) slot = (slot + 1) & mask;
    names->slots[slot] = (uint32_t)(index + 1);
}

static inline Outcome names_widen(Names *names) {
    if (names->count >= MOST_ITEMS) return NO_MEMORY;
    size_t wider = wider_slots(names->slots_count, names->count);
    if (wider == 0) return DONE;
    uint32_t *slots = calloc(wider, sizeof *slots);
    if (slots == NULL) return NO_MEMORY;
    free(names->slots);
    names->slots = slots;
    names->slots_count = wider;
    for (size_t i = 0; i < names->count; i++) names_place(names, i);
    return DONE;
}

/* Adds an id that is not there yet. */
static inline Outcome names_add(Names *names, Slice id, uint64_t hash) {
    TRY(names_widen(names));
    TRY(text_room(&names->text, &names->text_capacity, names->text_size, id.size));
    TRY(grow((void **)&names->items, &names->capacity, names->count + 1, sizeof *names->items));
    memcpy(names->text + names->text_size, id.at, id.size);
    names->items[names->count] = (Name){hash, names->text_size, id.size};
    names->text_size += id.size;
    memset(names->text + names->text_size, 0, PADDING);
    names_place(names, names->count++);
    return DONE;
}

/* The index of the id, added where it is new. */
static inline Outcome names_index(Names *names, Slice id, uint64_t hash, size_t *index) {
    *index = names_find(names, id, hash);
    if (*index != NOT_FOUND) return DONE;
    *index = names->count;
    return names_add(names, id, hash);
}

#endif
