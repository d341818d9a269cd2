/* SPDX-License-Identifier: MIT */

#include "server/memory.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void sim_fail(const char *words)
{
    fprintf(stderr, "sim: %s\n", words);
    abort();
}

void *sim_alloc(size_t size)
{
    void *memory = calloc(1, size == 0 ? 1 : size);

    if (memory == NULL)
        sim_fail("no memory");
    return memory;
}

void *sim_resize(void *memory, size_t size)
{
    memory = realloc(memory, size == 0 ? 1 : size);
    if (memory == NULL)
        sim_fail("no memory");
    return memory;
}

/* ---- strings ------------------------------------------------------------ */

sim_str sim_str_of(const char *text)
{
    return (sim_str){text, strlen(text)};
}

bool sim_str_equal(sim_str a, sim_str b)
{
    return a.size == b.size &&
           (a.size == 0 || memcmp(a.bytes, b.bytes, a.size) == 0);
}

int sim_str_compare(sim_str a, sim_str b)
{
    size_t common = a.size < b.size ? a.size : b.size;
    int order = common == 0 ? 0 : memcmp(a.bytes, b.bytes, common);

    if (order != 0)
        return order;
    return a.size < b.size ? -1 : a.size > b.size;
}

bool sim_str_is(sim_str str, const char *word)
{
    for (size_t i = 0;; i++) {
        int byte = i < str.size ? (unsigned char)str.bytes[i] : '\0';

        if (tolower(byte) != tolower((unsigned char)word[i]))
            return false;
        if (byte == '\0')
            return true;
    }
}

uint64_t sim_str_hash(sim_str str)
{
    const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t hash = str.size * factor;
    uint64_t word;
    size_t i = 0;

    for (; i + 8 <= str.size; i += 8) {
        memcpy(&word, str.bytes + i, 8);
        hash = (hash ^ word) * factor;
        hash ^= hash >> 29;
    }
    word = 0;
    if (i < str.size)
        memcpy(&word, str.bytes + i, str.size - i);
    hash = (hash ^ word) * factor;
    hash ^= hash >> 32;
    return hash * factor ^ hash >> 29;
}

/* ---- texts and buffers -------------------------------------------------- */

sim_text *sim_text_new(sim_str str)
{
    sim_text *text = sim_resize(NULL, sizeof(*text) + str.size);

    text->size = str.size;
    if (str.size > 0)
        memcpy(text->bytes, str.bytes, str.size);
    return text;
}

sim_str sim_text_str(const sim_text *text)
{
    return (sim_str){text->bytes, text->size};
}

void sim_buffer_done(sim_buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (sim_buffer){0};
}

char *sim_buffer_more(sim_buffer *buffer, size_t size)
{
    if (buffer->size + size > buffer->room) {
        buffer->room = 2 * (buffer->size + size) + 64;
        buffer->bytes = sim_resize(buffer->bytes, buffer->room);
    }
    buffer->size += size;
    return buffer->bytes + buffer->size - size;
}

void sim_buffer_add(sim_buffer *buffer, sim_str str)
{
    if (str.size > 0)
        memcpy(sim_buffer_more(buffer, str.size), str.bytes, str.size);
}

sim_str sim_buffer_str(const sim_buffer *buffer)
{
    return (sim_str){buffer->bytes, buffer->size};
}

void sim_buffer_print(sim_buffer *buffer, const char *format, ...)
{
    va_list args, again;
    int size;

    va_start(args, format);
    va_copy(again, args);
    size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    vsnprintf(sim_buffer_more(buffer, (size_t)size + 1), (size_t)size + 1,
              format, again);
    va_end(again);
    buffer->size--;
}

/* ---- numbers ------------------------------------------------------------ */

static bool digits_read(sim_str str, uint64_t *ret_number)
{
    uint64_t number = 0;

    if (str.size == 0 || str.size > 19 || str.bytes[0] == '0')
        return false;
    for (size_t i = 0; i < str.size; i++) {
        if (str.bytes[i] < '0' || str.bytes[i] > '9')
            return false;
        number = number * 10 + (uint64_t)(str.bytes[i] - '0');
    }
    *ret_number = number;
    return true;
}

bool sim_integer_read(sim_str str, int64_t *ret_number)
{
    bool is_negative = str.size > 0 && str.bytes[0] == '-';
    uint64_t number = 0;

    if (str.size == 1 && str.bytes[0] == '0') {
        *ret_number = 0;
        return true;
    }
    if (is_negative)
        str = (sim_str){str.bytes + 1, str.size - 1};
    if (!digits_read(str, &number) ||
        number > (uint64_t)INT64_MAX + (is_negative ? 1 : 0))
        return false;
    *ret_number = (int64_t)(is_negative ? -number : number);
    return true;
}

int sim_integer_begin(sim_str str)
{
    char text[SIM_NUMBER];

    snprintf(text, sizeof(text), "%.*s", (int)str.size, str.bytes);
    return (int)strtol(text, NULL, 10);
}

static bool is_out_of_range(double number)
{
    return errno == ERANGE && (isinf(number) || number == 0);
}

bool sim_double_read(sim_str str, double *ret_number)
{
    char text[512];
    char *end;

    if (str.size == 0 || str.size >= sizeof(text) ||
        isspace((unsigned char)str.bytes[0]))
        return false;
    memcpy(text, str.bytes, str.size);
    text[str.size] = '\0';
    errno = 0;
    *ret_number = strtod(text, &end);
    return end == text + str.size && !is_out_of_range(*ret_number) &&
           !isnan(*ret_number);
}

size_t sim_integer_write(char *text, int64_t number)
{
    char digits[SIM_NUMBER];
    size_t at = sizeof(digits), size;
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;

    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0)
        digits[--at] = '-';
    size = sizeof(digits) - at;
    memcpy(text, digits + at, size);
    text[size] = '\0';
    return size;
}

size_t sim_double_write(char *text, double number)
{
    /* What %.17g makes of an integer of up to 16 digits. */
    if (number > -1e16 && number < 1e16 && number == (double)(int64_t)number &&
        !(number == 0 && signbit(number)))
        return sim_integer_write(text, (int64_t)number);
    return (size_t)snprintf(text, SIM_NUMBER, "%.17g", number);
}

uint64_t sim_random(uint64_t *state)
{
    uint64_t next = *state += UINT64_C(0x9e3779b97f4a7c15);

    next = (next ^ next >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    next = (next ^ next >> 27) * UINT64_C(0x94d049bb133111eb);
    return next ^ next >> 31;
}
