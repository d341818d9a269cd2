/* SPDX-License-Identifier: MIT */

/*
 * `latchkey demo`: what the library is for, shown by processes that share a
 * server of their own, and checked. It exits with 0 only if all it says of the
 * scenes was true.
 */

#include "cli/demo/demo.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "cli/clock.h"
#include "cli/config.h"

static volatile sig_atomic_t interrupted;

uint64_t demo_now(void)
{
    return (uint64_t)cli_now_ns();
}

uint64_t demo_scene_ms(const demo *d)
{
    return (demo_now() - d->scene_at) / 1000000;
}

int demo_interrupted(void)
{
    return interrupted;
}

static void on_signal(int number)
{
    interrupted = number;
}

static void catch_signals(void)
{
    const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction action = {.sa_handler = on_signal};

    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        (void)sigaction(signals[i], &action, NULL);
}

/* ---- scenes ------------------------------------------------------------- */

/* Asked to, or nobody reads it any more. */
static bool must_end(void)
{
    return interrupted != 0 || ferror(stdout) != 0;
}

static bool is_over(demo *d)
{
    if (must_end() || demo_cast_failed(d) >= 0)
        return true;
    if (demo_scene_ms(d) > DEMO_PATIENCE_MS) {
        demo_check(d, false, "the scene came to its end in %d s",
                   DEMO_PATIENCE_MS / 1000);
        return true;
    }
    return d->scene->direct(d);
}

static void report_failure(demo *d)
{
    const int failed = demo_cast_failed(d);

    if (failed >= 0)
        demo_check(d, false, "%s %d could go on: %s", d->scene->actor,
                   failed + 1, d->board->stage.actors[failed].words);
}

static void scene_run(demo *d)
{
    demo_stage *stage = &d->board->stage;

    memset(stage, 0, sizeof(*stage));
    d->step = 0;
    demo_scene_begin(d);
    if (demo_cast_start(d)) {
        d->scene_at = demo_now();
        atomic_store(&stage->go, true);
        while (!is_over(d)) {
            demo_draw(d);
            cli_pass_ms(DEMO_FRAME_MS);
        }
    }
    demo_cast_end(d);
    if (must_end())
        return;
    demo_draw_last(d);
    if (demo_cast_failed(d) < 0)
        d->scene->judge(d);
    report_failure(d);
}

static void scenes_run(demo *d)
{
    static const demo_scene *const scenes[] = {&demo_scene_pool,
                                               &demo_scene_cache,
                                               &demo_scene_fleet,
                                               &demo_scene_baton};

    demo_begin(d);
    for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
        d->scene = scenes[i];
        scene_run(d);
        if (must_end())
            return;
    }
    demo_end(d);
}

/* ---- the command -------------------------------------------------------- */

static int play(demo *d, const cli_program *program)
{
    pid_t keeper = demo_server_start(d->c, d->board, program);

    if (keeper == 0)
        return interrupted ? CLI_SIGNAL + interrupted : CLI_UNAVAILABLE;
    scenes_run(d);
    demo_server_end(keeper);
    if (interrupted)
        return CLI_SIGNAL + interrupted;
    return d->untrue == 0 ? CLI_OK : CLI_INTERNAL;
}

typedef struct demo_values {
    bool is_quick;
} demo_values;

static const cli_option options[] = {
    {CLI_FLAG, 0, "quick", offsetof(demo_values, is_quick), NULL,
     "some seconds instead of half a minute", 0},
    {.kind = CLI_END},
};

static int run(cli *c, int argc, char **argv)
{
    demo d = {.c = c};
    demo_values values = {false};
    cli_value program;
    cli_args args;
    int code;

    cli_parse(c, argc, argv, &values, &args);
    code = cli_setting_find(c, "server-program", NULL, &program);
    if (code != 0)
        return code;
    d.board = mmap(NULL, sizeof(*d.board), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (d.board == MAP_FAILED) {
        code = cli_fail(c, CLI_INTERNAL, "no memory to share: %s",
                        strerror(errno));
    } else {
        d.board->is_quick = values.is_quick;
        d.board->lease_ms = values.is_quick ? 1000 : 2000;
        catch_signals();
        code = play(&d, &(cli_program){program.text,
                                       strcmp(program.from, "default") == 0});
        (void)munmap(d.board, sizeof(*d.board));
    }
    cli_value_done(&program);
    return code;
}

const cli_command cli_command_demo = {
    .name = "demo",
    .group = CLI_SETUP,
    .summary = "see what it is for, in half a minute, on a server of its own",
    .examples = "  latchkey demo\n"
                "  latchkey demo --quick",
    .usage = "[OPTION]...",
    .about =
        "Starts a redis-server that only it can reach, and plays four scenes\n"
        "with processes that share it: a worker pool held to 4 by a leased\n"
        "semaphore, whose killed worker's permit comes back; a cache that\n"
        "many read and one rebuilds; a fleet that a latch releases; and a hot\n"
        "lock, handed over as fast as it goes. It checks what it shows: the\n"
        "exit code is 0 only if all of it was true.\n"
        "\n"
        "On a terminal of 80 by 24 or more it is a picture, elsewhere one\n"
        "line for each event. Your server, if you have one, is not used.",
    .options = options,
    .run = run,
};
