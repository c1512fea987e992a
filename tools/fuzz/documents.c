/* Fuzzes the JSON of documents, without Python: a line is read as an object and written again.
 *
 * Besides not crashing, a line that is read must be written as compact ASCII in the room that the caller reserves; what was
 * written must be read and written again as the same bytes, in the order of the line and in ascending order; texts must be valid
 * UTF-8 and no longer than their JSON; and a digest must not depend on the pieces in which its bytes come. */
#include "../../src/rankproof/_native/documents_src/blake2b.h"
#include "../../src/rankproof/_native/documents_src/json.h"
#include "expect.h"

static Buffer room_for(size_t size) {
    Buffer buffer = {malloc(size + 1), 0, size};
    EXPECT(buffer.data != NULL);
    return buffer;
}

static int read_line(const uint8_t *line, size_t size, Member *members) {
    Cursor cursor = {line, line + size, false};
    int count = take(&cursor, '{') ? read_members(&cursor, members, 0) : -1;
    skip_space(&cursor);
    return cursor.at < cursor.end ? -1 : count;
}

static void expect_valid_text(const Member *member) {
    Buffer text = room_for(member->size);
    put_text(&text, member);
    EXPECT(text.size <= member->size);
    for (const uint8_t *at = text.data, *end = at + text.size; at < end;) {
        int length = *at < 0x80 ? 1 : sequence_length(at, end);
        EXPECT(length > 0);
        at += length;
    }
    free(text.data);
}

/* The line as it is written; its data is freed by the caller. */
static Buffer written(const Member *members, int count, size_t line_size, bool sorted) {
    Buffer out = room_for(WIDEST_ESCAPE * line_size);
    put_members(&out, members, count, sorted);
    EXPECT(out.size <= out.capacity);
    for (size_t i = 0; i < out.size; i++) EXPECT(out.data[i] >= 0x20 && out.data[i] < 0x7F);
    return out;
}

static void expect_same_again(const Member *members, int count, size_t line_size, bool sorted) {
    Member again[MOST_MEMBERS];
    Buffer first = written(members, count, line_size, sorted);
    EXPECT(read_line(first.data, first.size, again) == count);
    EXPECT(!sorted || is_ascending(again, count));
    Buffer second = written(again, count, first.size, sorted);
    EXPECT(first.size == second.size && memcmp(first.data, second.data, first.size) == 0);
    free(first.data);
    free(second.data);
}

static void expect_same_digest(const uint8_t *data, size_t size) {
    Blake whole, pieces;
    size_t cut = size == 0 ? 0 : data[0] % size;
    blake_begin(&whole, 32);
    blake_begin(&pieces, 32);
    blake_add(&whole, data, size);
    blake_add(&pieces, data, cut);
    blake_add(&pieces, data + cut, size - cut);
    blake_end(&whole);
    blake_end(&pieces);
    EXPECT(memcmp(whole.state, pieces.state, sizeof whole.state) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Member members[MOST_MEMBERS];
    int count = read_line(data, size, members);
    for (int i = 0; i < count; i++)
        if (members[i].kind == STRING || members[i].kind == ESCAPED) expect_valid_text(&members[i]);
    if (count >= 0) expect_same_again(members, count, size, false);
    if (count >= 0) expect_same_again(members, count, size, true);
    expect_same_digest(data, size);
    return 0;
}
