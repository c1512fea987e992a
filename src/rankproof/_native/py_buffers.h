/* Checks of the buffers that Python passes. */
#ifndef RANKPROOF_PY_BUFFERS_H
#define RANKPROOF_PY_BUFFERS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether a buffer holds whole items of `size` bytes at an address that is a multiple of it. */
static inline bool holds_items(const Py_buffer *buffer, size_t size) {
    return (size_t)buffer->len % size == 0 && (uintptr_t)buffer->buf % size == 0;
}

#endif
