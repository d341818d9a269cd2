/* SPDX-License-Identifier: MIT */
#ifndef LK_FUZZ_INPUT_H
#define LK_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

/* What a target is given, taken from the front; zeros at its end. */
typedef struct input {
    const uint8_t *at;
    size_t left;
} input;

/* What each target is: runs with one input. Answers 0. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

uint8_t input_byte(input *in);

/* A number in [0, limit), limit up to 256. */
unsigned input_below(input *in, unsigned limit);

/* A small number, any, or one at an edge. */
int64_t input_number(input *in);

/* Some bytes, as many as the first one says; borrowed. */
const char *input_bytes(input *in, size_t *ret_size);

/* The same as text, without NULs; owned by the caller. Never NULL. */
char *input_text(input *in);

/* Cuts off the first size bytes, or what there is of them. */
input input_cut(input *in, size_t size);

/* Ends the program: something that must not be is. */
_Noreturn void input_fail(const char *words);

#endif /* LK_FUZZ_INPUT_H */
