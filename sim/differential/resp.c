/* SPDX-License-Identifier: MIT */

#include "differential/resp.h"

#include <stdlib.h>
#include <string.h>

/* Reads the number of the first line; its size, the end included, or 0. */
static size_t line_size(sim_str bytes, int64_t *ret_number)
{
    const char *end =
        bytes.size == 0 ? NULL : memchr(bytes.bytes, '\n', bytes.size);

    if (end == NULL)
        return 0;
    *ret_number = strtoll(bytes.bytes + 1, NULL, 10);
    return (size_t)(end - bytes.bytes) + 1;
}

static sim_str from(sim_str bytes, size_t at)
{
    return (sim_str){bytes.bytes + at, bytes.size - at};
}

size_t resp_size(sim_str bytes)
{
    int64_t number = 0;
    size_t size = line_size(bytes, &number);

    if (size == 0)
        return 0;
    if (bytes.bytes[0] == '$' && number >= 0) {
        size += (size_t)number + 2;
        return size <= bytes.size ? size : 0;
    }
    for (int64_t i = 0; bytes.bytes[0] == '*' && i < number; i++) {
        size_t element = resp_size(from(bytes, size));

        if (element == 0)
            return 0;
        size += element;
    }
    return size;
}

void resp_write(sim_buffer *buffer, int argc, const sim_str *argv)
{
    sim_buffer_print(buffer, "*%d\r\n", argc);
    for (int i = 0; i < argc; i++) {
        sim_buffer_print(buffer, "$%zu\r\n", argv[i].size);
        sim_buffer_add(buffer, argv[i]);
        sim_buffer_add(buffer, (sim_str){"\r\n", 2});
    }
}

sim_str *resp_elements(sim_str reply, size_t *ret_count)
{
    int64_t count = 0;
    size_t at = line_size(reply, &count);
    sim_str *elements;

    if (reply.bytes[0] != '*' || count < 0)
        count = 0;
    elements = sim_alloc((size_t)count * sizeof(*elements));
    for (int64_t i = 0; i < count; i++) {
        elements[i].bytes = reply.bytes + at;
        elements[i].size = resp_size(from(reply, at));
        at += elements[i].size;
    }
    *ret_count = (size_t)count;
    return elements;
}

sim_str resp_string(sim_str reply)
{
    int64_t size = 0;
    size_t line = line_size(reply, &size);

    if (reply.bytes[0] != '$')
        return (sim_str){reply.bytes + 1, line - 3};
    return size < 0 ? (sim_str){"", 0}
                    : (sim_str){reply.bytes + line, (size_t)size};
}

static int compare(const void *a, const void *b)
{
    const sim_str *left = a, *right = b;

    return sim_str_compare(*left, *right);
}

/* Steps become one string each, and are put in order. */
static size_t fold(sim_str *elements, size_t count, size_t step)
{
    for (size_t i = 0; i < count / step; i++) {
        sim_str first = elements[i * step];
        sim_str last = elements[i * step + step - 1];

        elements[i].bytes = first.bytes;
        elements[i].size = (size_t)(last.bytes - first.bytes) + last.size;
    }
    qsort(elements, count / step, sizeof(*elements), compare);
    return count / step;
}

/* The elements of two arrays may be in another order, step by step (2: pairs). */
static bool has_same_elements(sim_str a, sim_str b, size_t step)
{
    size_t count_a, count_b;
    sim_str *left = resp_elements(a, &count_a);
    sim_str *right = resp_elements(b, &count_b);
    bool is_same = a.bytes[0] == '*' && b.bytes[0] == '*' &&
                   count_a == count_b && count_a % step == 0;

    if (is_same) {
        count_a = fold(left, count_a, step);
        fold(right, count_b, step);
    }
    for (size_t i = 0; is_same && i < count_a; i++)
        is_same = sim_str_equal(left[i], right[i]);
    free(left);
    free(right);
    return is_same;
}

/* Is the order of what this command answers left open? 0: no; or the step. */
static size_t open_order(sim_str name)
{
    static const struct {
        const char *name;
        size_t step;
    } commands[] = {{"KEYS", 1}, {"SMEMBERS", 1}, {"PUBSUB", 1}};

    for (unsigned i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (sim_str_is(name, commands[i].name))
            return commands[i].step;
    }
    return 0;
}

/* Of a table, whose order is open; all of it is told at once. */
static bool is_same_scan(sim_str left, sim_str right)
{
    size_t count_a, count_b;
    sim_str *a = resp_elements(left, &count_a);
    sim_str *b = resp_elements(right, &count_b);
    const sim_str end = {"0", 1};
    bool is_same = count_a == 2 && count_b == 2 &&
                   sim_str_equal(resp_string(a[0]), end) &&
                   sim_str_equal(resp_string(b[0]), end) &&
                   has_same_elements(a[1], b[1], 2);

    free(a);
    free(b);
    return is_same;
}

/* Whether no field of a has another value in b, nor stands in a twice. */
static bool
is_choice_beside(const sim_str *a, const sim_str *b, size_t count, size_t step)
{
    for (size_t i = 0; i < count; i += step) {
        for (size_t j = 0; j < count; j += step) {
            if ((j < i && sim_str_equal(a[i], a[j])) ||
                (sim_str_equal(a[i], b[j]) &&
                 !sim_str_equal(a[i + step - 1], b[j + step - 1])))
                return false;
        }
    }
    return true;
}

/* Fields that were picked by chance, as many and each once. */
static bool is_same_choice(sim_str left, sim_str right, size_t step)
{
    size_t count_a, count_b;
    sim_str *a = resp_elements(left, &count_a);
    sim_str *b = resp_elements(right, &count_b);
    bool is_same = count_a > 0 && count_a == count_b && count_a % step == 0 &&
                   is_choice_beside(a, b, count_a, step) &&
                   is_choice_beside(b, a, count_a, step);

    free(a);
    free(b);
    return is_same;
}

/* HRANDFIELD with a count above 1: of most fields a table is made. Otherwise both
   draw the same. */
static bool is_open_choice(const sim_str *words, size_t count)
{
    int64_t fields;

    return count > 2 && sim_str_is(resp_string(words[0]), "HRANDFIELD") &&
           sim_integer_read(resp_string(words[2]), &fields) && fields > 1;
}

bool resp_is_same(sim_str request, sim_str a, sim_str b)
{
    size_t count, step;
    sim_str *words;
    sim_str name;
    bool is_choice;

    if (sim_str_equal(a, b))
        return true;
    words = resp_elements(request, &count);
    name = resp_string(words[0]);
    is_choice = is_open_choice(words, count);
    free(words);
    if (is_choice)
        return is_same_choice(a, b, count > 3 ? 2 : 1);
    if (sim_str_is(name, "ZSCAN"))
        return is_same_scan(a, b);
    step = open_order(name);
    return step != 0 && has_same_elements(a, b, step);
}
