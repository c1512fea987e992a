/* The judgements as alignment looks them up: each query's documents, side by side. */
#ifndef RANKPROOF_JUDGED_H
#define RANKPROOF_JUDGED_H

#include "names.h"

#define ID_SIZE_BITS 24
#define TEXT_SIZE_BITS 40

/* The id of the document is `size` bytes from `at` in the text. */
typedef struct {
    uint64_t hash;
    int64_t grade;
    uint64_t at : TEXT_SIZE_BITS, size : ID_SIZE_BITS;
} JudgedDoc;

static inline bool fits_judged_doc(uint64_t at, uint64_t size) { return at >> TEXT_SIZE_BITS == 0 && size >> ID_SIZE_BITS == 0; }

static inline JudgedDoc judged_doc(uint64_t hash, int64_t grade, uint64_t at, uint64_t size) {
    return (JudgedDoc){hash, grade, at & ((UINT64_C(1) << TEXT_SIZE_BITS) - 1), size & ((UINT64_C(1) << ID_SIZE_BITS) - 1)};
}

enum { IS_FORM = 1, IS_LOOKED_AT = 2 };

/* queries: the judged ones first, in order, then others that have a mark. Documents of query i are starts[i] to
 * starts[i + 1]; forms are judged ids in other Unicode forms, those of query i from form_starts[i], in pieces of `forms_text`. */
typedef struct {
    Seed seed;
    Names queries;
    size_t count;
    uint8_t *marks;
    size_t marks_capacity;
    size_t *starts;
    JudgedDoc *docs;
    char *text;
    size_t text_size;
    size_t *form_starts;
    JudgedDoc *forms;
    size_t forms_count, forms_capacity;
    char *forms_text;
    size_t forms_text_size, forms_text_capacity;
    bool only;
} Judged;

static inline void judged_free(Judged *judged) {
    names_free(&judged->queries);
    free(judged->marks);
    free(judged->starts);
    free(judged->docs);
    free(judged->text);
    free(judged->form_starts);
    free(judged->forms);
    free(judged->forms_text);
}

static inline Slice doc_id(const Judged *judged, const JudgedDoc *doc) { return (Slice){judged->text + doc->at, doc->size}; }

static inline Slice form_id(const Judged *judged, const JudgedDoc *form) {
    return (Slice){judged->forms_text + form->at, form->size};
}

/* Marks a query that is not judged; its text must be padded. */
static inline Outcome judged_mark_query(Judged *judged, Slice id, uint8_t mark) {
    size_t index;
    TRY(grow((void **)&judged->marks, &judged->marks_capacity, judged->queries.count + 1, 1));
    size_t before = judged->queries.count;
    TRY(names_index(&judged->queries, id, hash_padded(judged->seed, id.at, id.size), &index));
    if (index >= before) judged->marks[index] = 0;
    if (index >= judged->count) judged->marks[index] |= mark;
    return DONE;
}

/* Adds a form of one of query `query`'s documents; queries come in order, and judged_close_forms after the last. */
static inline Outcome judged_add_form(Judged *judged, size_t query, Slice id) {
    if (judged->form_starts == NULL) {
        judged->form_starts = calloc(judged->count + 1, sizeof *judged->form_starts);
        if (judged->form_starts == NULL) return NO_MEMORY;
    }
    if (!fits_judged_doc(judged->forms_text_size, id.size)) return NO_MEMORY;
    TRY(grow((void **)&judged->forms, &judged->forms_capacity, judged->forms_count + 1, sizeof *judged->forms));
    TRY(text_room(&judged->forms_text, &judged->forms_text_capacity, judged->forms_text_size, id.size));
    memcpy(judged->forms_text + judged->forms_text_size, id.at, id.size);
    memset(judged->forms_text + judged->forms_text_size + id.size, 0, PADDING);
    uint64_t hash = hash_padded(judged->seed, id.at, id.size);
    judged->forms[judged->forms_count++] = judged_doc(hash, 0, judged->forms_text_size, id.size);
    judged->forms_text_size += id.size;
    judged->form_starts[query + 1] = judged->forms_count;
    return DONE;
}

static inline void judged_close_forms(Judged *judged) {
    for (size_t i = 0; judged->form_starts != NULL && i < judged->count; i++) {
        if (judged->form_starts[i + 1] == 0) judged->form_starts[i + 1] = judged->form_starts[i];
    }
}

#endif
