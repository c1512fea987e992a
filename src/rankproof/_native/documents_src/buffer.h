/* Bytes that grow. `put` and `put_byte` need room that `reserve` made. */
#ifndef RANKPROOF_BUFFER_H
#define RANKPROOF_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint8_t *data;
    size_t size, capacity;
} Buffer;

static bool reserve(Buffer *buffer, size_t more) {
    if (more <= buffer->capacity - buffer->size) return true;
    if (more > SIZE_MAX / 4 - buffer->size) return false;
    size_t capacity = (buffer->size + more) * 3 / 2;
    uint8_t *data = realloc(buffer->data, capacity);
    if (data == NULL) return false;
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

static void put(Buffer *buffer, const uint8_t *data, size_t size) {
    if (size > 0) memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
}

static void put_byte(Buffer *buffer, uint8_t byte) { buffer->data[buffer->size++] = byte; }

static bool put_number(Buffer *buffer, int64_t value) {
    if (!reserve(buffer, sizeof value)) return false;
    put(buffer, (const uint8_t *)&value, sizeof value);
    return true;
}

#endif
