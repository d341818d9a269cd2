/* SPDX-License-Identifier: MIT */

#include "differential/line.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "differential/resp.h"
#include "server/inside.h"
#include "support/wait.h"

enum { ANSWER_MS = 20000, READ_SIZE = 65536 };

/* ---- the model's side --------------------------------------------------- */

static void hear(void *data, const char *bytes, size_t size)
{
    line *l = data;

    sim_buffer_add(&l->expected, (sim_str){bytes, size});
}

static void hear_end(void *data)
{
    (void)data;
}

static const sim_ears ears = {hear, hear_end};

static void model_ask(const line *l, sim_str request)
{
    size_t count;
    sim_str *args = resp_elements(request, &count);

    for (size_t i = 0; i < count; i++)
        args[i] = resp_string(args[i]);
    sim_session_ask(l->session, (int)count, args);
    free(args);
}

bool line_is_blocked(const line *l)
{
    return l->session->block != SIM_FREE;
}

/* ---- the real side ------------------------------------------------------ */

static int real_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
        sim_fail("no connection to the real server");
    return fd;
}

static void real_write(const line *l, sim_str bytes)
{
    while (bytes.size > 0) {
        ssize_t size = write(l->fd, bytes.bytes, bytes.size);

        if (size < 0)
            sim_fail("the real server does not read");
        bytes = (sim_str){bytes.bytes + size, bytes.size - (size_t)size};
    }
}

/* Reads some more; false: nothing comes. */
static bool real_read(line *l)
{
    struct pollfd at = {.fd = l->fd, .events = POLLIN};
    char *to;
    ssize_t size;

    if (poll(&at, 1, (int)wait_scaled_ms(ANSWER_MS)) != 1)
        return false;
    to = sim_buffer_more(&l->heard, READ_SIZE);
    size = read(l->fd, to, READ_SIZE);
    l->heard.size -= READ_SIZE - (size_t)(size < 0 ? 0 : size);
    return size > 0;
}

bool line_is_closed(const line *l)
{
    struct pollfd at = {.fd = l->fd, .events = POLLIN};
    char said[4096];

    while (poll(&at, 1, (int)wait_scaled_ms(ANSWER_MS)) == 1) {
        if (read(l->fd, said, sizeof(said)) <= 0)
            return true;
    }
    return false;
}

/* ---- both --------------------------------------------------------------- */

void line_ask(line *l, sim_str requests)
{
    real_write(l, requests);
    while (requests.size > 0) {
        size_t size = resp_size(requests);

        model_ask(l, (sim_str){requests.bytes, size});
        requests = (sim_str){requests.bytes + size, requests.size - size};
    }
}

bool line_reply(line *l, sim_str *ret_real, sim_str *ret_model)
{
    size_t size;
    bool is_there = true;

    *ret_model = sim_buffer_str(&l->expected);
    ret_model->size = resp_size(*ret_model);
    while ((size = resp_size(sim_buffer_str(&l->heard))) == 0 && is_there)
        is_there = real_read(l);
    *ret_real = sim_buffer_str(&l->heard);
    if (size != 0)
        ret_real->size = size;
    return size != 0;
}

static void drop(sim_buffer *buffer, size_t size)
{
    buffer->size -= size;
    memmove(buffer->bytes, buffer->bytes + size, buffer->size);
}

void line_drop(line *l, sim_str real, sim_str model)
{
    drop(&l->heard, real.size);
    drop(&l->expected, model.size);
}

bool line_hears_same(line *l)
{
    while (l->heard.size < l->expected.size && real_read(l))
        ;
    return sim_str_equal(sim_buffer_str(&l->expected),
                         sim_buffer_str(&l->heard));
}

void line_forget(line *l)
{
    l->heard.size = l->expected.size = 0;
}

/* ---- life --------------------------------------------------------------- */

void line_open(line *l, sim_server *model, server *real)
{
    static const char id[] = "*2\r\n$6\r\nCLIENT\r\n$2\r\nID\r\n";

    line_forget(l);
    l->session = sim_session_new(model, &ears, l);
    l->fd = real_connect(server_socket(real));
    real_write(l, (sim_str){id, sizeof(id) - 1});
    while (resp_size(sim_buffer_str(&l->heard)) == 0) {
        if (!real_read(l))
            sim_fail("the real server does not answer");
    }
    l->id = strtoll(l->heard.bytes + 1, NULL, 10);
    line_forget(l);
}

void line_close(line *l)
{
    sim_session_free(l->session);
    close(l->fd);
}

void line_done(line *l)
{
    sim_buffer_done(&l->expected);
    sim_buffer_done(&l->heard);
}
