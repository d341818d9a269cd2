/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_SERVER_MEMORY_H
#define LK_SIM_SERVER_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Memory, byte strings and numbers as texts. There is memory, or the program
 * ends.
 */

/* Ends the program. */
_Noreturn void sim_fail(const char *words);

/* Zeroed. Freed by free(). */
void *sim_alloc(size_t size);
void *sim_resize(void *memory, size_t size);

/* Borrowed bytes, which need not end with a zero. */
typedef struct sim_str {
    const char *bytes;
    size_t size;
} sim_str;

sim_str sim_str_of(const char *text);
bool sim_str_equal(sim_str a, sim_str b);
/* As memcmp() sorts them, the shorter first. */
int sim_str_compare(sim_str a, sim_str b);
/* Up to a zero byte, whatever the letters' case, as options are read. */
bool sim_str_is(sim_str str, const char *word);
uint64_t sim_str_hash(sim_str str);
/* As Redis matches a pattern: * ? [a-c] [^a] and \ before any of them. */
bool sim_str_matches(sim_str str, sim_str pattern);

/* Owned bytes. Freed by free(). */
typedef struct sim_text {
    size_t size;
    char bytes[];
} sim_text;

sim_text *sim_text_new(sim_str str);
sim_str sim_text_str(const sim_text *text);

/* Bytes that grow. Zeroed memory is an empty one. */
typedef struct sim_buffer {
    char *bytes;
    size_t size, room;
} sim_buffer;

void sim_buffer_done(sim_buffer *buffer);
/* Makes room for so many bytes more and returns where they go. */
char *sim_buffer_more(sim_buffer *buffer, size_t size);
void sim_buffer_add(sim_buffer *buffer, sim_str str);
/* What is in it, until it changes. */
sim_str sim_buffer_str(const sim_buffer *buffer);
void sim_buffer_print(sim_buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

enum { SIM_NUMBER = 32 }; /* characters of a number, the zero included */

/* The whole of it is a number as Redis writes it. */
bool sim_integer_read(sim_str str, int64_t *ret_number);
/* What atoi() makes of it. */
int sim_integer_begin(sim_str str);
/* The whole of it is a number to strtod(). */
bool sim_double_read(sim_str str, double *ret_number);
/* They return the length. */
size_t sim_integer_write(char *text, int64_t number);
size_t sim_double_write(char *text, double number);

/* The next one of a sequence. */
uint64_t sim_random(uint64_t *state);

/* Writes 40 hexadecimal digits and a zero. */
void sim_sha1(char *digest, sim_str str);

#endif /* LK_SIM_SERVER_MEMORY_H */
