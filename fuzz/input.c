/* SPDX-License-Identifier: MIT */

#include "input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint8_t input_byte(input *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->at++;
}

unsigned input_below(input *in, unsigned limit)
{
    return input_byte(in) % limit;
}

int64_t input_number(input *in)
{
    static const int64_t edges[] = {-2,
                                    -1,
                                    200,
                                    3000,
                                    30000,
                                    INT32_MAX,
                                    INT64_C(4294967296),
                                    INT64_C(9007199254740991),
                                    INT64_C(9007199254740992),
                                    INT64_C(9007199254740993),
                                    INT64_MAX,
                                    INT64_MIN};
    unsigned kind = input_byte(in);
    uint64_t number = 0;

    if (kind < 16)
        return (int64_t)kind;
    if (kind < 16 + 12 * 4)
        return edges[(kind - 16) % 12];
    for (unsigned i = 0; i < kind % 9; i++)
        number = number << 8 | input_byte(in);
    return (int64_t)number;
}

const char *input_bytes(input *in, size_t *ret_size)
{
    const char *bytes;
    size_t size = input_byte(in);

    if (size > in->left)
        size = in->left;
    bytes = (const char *)in->at;
    in->at += size;
    in->left -= size;
    *ret_size = size;
    return bytes;
}

char *input_text(input *in)
{
    size_t size;
    const char *bytes = input_bytes(in, &size);
    char *text = malloc(size + 1);

    if (text == NULL)
        input_fail("no memory");
    if (size > 0)
        memcpy(text, bytes, size);
    text[size] = '\0';
    return text;
}

input input_cut(input *in, size_t size)
{
    input cut = *in;

    if (cut.left > size)
        cut.left = size;
    in->at += cut.left;
    in->left -= cut.left;
    return cut;
}

void input_fail(const char *words)
{
    (void)fprintf(stderr, "fuzz: %s\n", words);
    abort();
}
