/* SPDX-License-Identifier: MIT */

/* Takes commands out of bytes. */

#include "world/inlet.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "world/schedule.h"

enum { ARGS_MOST = 512 };

/* "<mark><number>\r\n" at *at; false: it is not complete. */
static bool
take_number(const char **at, const char *end, char mark, size_t *ret_number)
{
    const char *digit = *at + 1;
    size_t number = 0;

    if (*at < end && **at != mark)
        sim_wrong("the client sends what is no command");
    while (digit < end && *digit >= '0' && *digit <= '9')
        number = number * 10 + (size_t)(*digit++ - '0');
    if (end - digit < 2)
        return false;
    *at = digit + 2;
    *ret_number = number;
    return true;
}

/* Runs the command at the begin of the bytes and returns its size; 0: it is not
   complete. */
static size_t
command_take(const char *bytes, size_t size, sim_command run, void *data)
{
    const char *argv[ARGS_MOST], *at = bytes, *end = bytes + size;
    size_t sizes[ARGS_MOST], count, i;

    if (!take_number(&at, end, '*', &count))
        return 0;
    if (count == 0 || count > ARGS_MOST)
        sim_wrong("a command of %zu arguments", count);
    for (i = 0; i < count; i++) {
        if (!take_number(&at, end, '$', &sizes[i]) ||
            (size_t)(end - at) < sizes[i] + 2)
            return 0;
        argv[i] = at;
        at += sizes[i] + 2;
    }
    run(data, (int)count, argv, sizes);
    return (size_t)(at - bytes);
}

static void inlet_grow(sim_inlet *inlet, size_t size)
{
    if (size <= inlet->room)
        return;
    inlet->room = 2 * size;
    inlet->bytes = sim_resize(inlet->bytes, inlet->room);
}

void sim_inlet_read(sim_inlet *inlet, const char *bytes, size_t size,
                    sim_command run, void *data)
{
    size_t done;

    if (inlet->size > 0) {
        inlet_grow(inlet, inlet->size + size);
        memcpy(inlet->bytes + inlet->size, bytes, size);
        bytes = inlet->bytes;
        size += inlet->size;
    }
    while (size > 0 && (done = command_take(bytes, size, run, data)) > 0) {
        bytes += done;
        size -= done;
    }
    inlet_grow(inlet, size);
    if (size > 0)
        memmove(inlet->bytes, bytes, size); /* the rest of it comes later */
    inlet->size = size;
}
