/* SPDX-License-Identifier: MIT */

/* Replies in RESP2. */

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server/inside.h"

const char SIM_OOM[] =
    "-OOM command not allowed when used memory > 'maxmemory'.";
const char SIM_READONLY[] =
    "-READONLY You can't write against a read only replica.";
const char SIM_MISCONF[] =
    "-MISCONF Redis is configured to save RDB snapshots, but it's currently "
    "unable to persist to disk. Commands that may modify the data set are "
    "disabled, because this instance is configured to report errors during "
    "writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). "
    "Please check the Redis logs for details about the RDB error.";
const char SIM_NOREPLICAS[] = "-NOREPLICAS Not enough good replicas to write.";

/* A line of one sign and a number. */
static void line(sim_call *call, char sign, int64_t number)
{
    char text[SIM_NUMBER + 3];
    size_t size = sim_integer_write(text + 1, number) + 1;

    text[0] = sign;
    text[size] = '\r';
    text[size + 1] = '\n';
    sim_buffer_add(call->reply, (sim_str){text, size + 2});
}

void sim_reply_status(sim_call *call, const char *text)
{
    sim_buffer_print(call->reply, "+%s\r\n", text);
}

void sim_reply_integer(sim_call *call, int64_t number)
{
    line(call, ':', number);
}

void sim_reply_bulk(sim_call *call, sim_str str)
{
    char *to;

    line(call, '$', (int64_t)str.size);
    to = sim_buffer_more(call->reply, str.size + 2);
    if (str.size > 0)
        memcpy(to, str.bytes, str.size);
    to[str.size] = '\r';
    to[str.size + 1] = '\n';
}

void sim_reply_text(sim_call *call, const char *text)
{
    sim_reply_bulk(call, sim_str_of(text));
}

void sim_reply_number(sim_call *call, int64_t number)
{
    char text[SIM_NUMBER];
    size_t size = sim_integer_write(text, number);

    sim_reply_bulk(call, (sim_str){text, size});
}

void sim_reply_double(sim_call *call, double number)
{
    char text[SIM_NUMBER];
    size_t size = sim_double_write(text, number);

    sim_reply_bulk(call, (sim_str){text, size});
}

void sim_reply_nil(sim_call *call)
{
    sim_buffer_add(call->reply, sim_str_of("$-1\r\n"));
}

void sim_reply_nil_array(sim_call *call)
{
    sim_buffer_add(call->reply, sim_str_of("*-1\r\n"));
}

void sim_reply_array(sim_call *call, size_t count)
{
    line(call, '*', (int64_t)count);
}

void sim_reply_error(sim_call *call, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    for (char *at = text; *at != '\0'; at++) {
        if (*at == '\r' || *at == '\n')
            *at = ' ';
    }
    sim_buffer_print(call->reply, "%s%s\r\n", text[0] == '-' ? "" : "-ERR ",
                     text);
}

void sim_reply_syntax_error(sim_call *call)
{
    sim_reply_error(call, "syntax error");
}

void sim_reply_wrong_type(sim_call *call)
{
    sim_reply_error(call, "-WRONGTYPE Operation against a key holding the "
                          "wrong kind of value");
}

void sim_reply_arity_error(sim_call *call)
{
    sim_reply_error(call, "wrong number of arguments for '%s' command",
                    call->command->name);
}

bool sim_arg_integer(sim_call *call, int index, int64_t *ret_number)
{
    if (sim_integer_read(call->argv[index], ret_number))
        return true;
    sim_reply_error(call, "value is not an integer or out of range");
    return false;
}

bool sim_arg_double(sim_call *call, int index, double *ret_number)
{
    if (sim_double_read(call->argv[index], ret_number))
        return true;
    sim_reply_error(call, "value is not a valid float");
    return false;
}
