/* SPDX-License-Identifier: MIT */
#include "fault/play.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const play_name play_names[PLAY_ALL_NAMES] = {
    {HISTORY_LOCK, "lock0"},       {HISTORY_LOCK, "lock1"},
    {HISTORY_FAIRLOCK, "fair0"},   {HISTORY_RWLOCK, "rw0"},
    {HISTORY_SEMAPHORE, "sem0"},   {HISTORY_REDLOCK, "red0"},
    {HISTORY_SIGLOCK, "{sig}0"},   {HISTORY_LATCH, "latch0"},
    {HISTORY_LOCK, "lock{tag}2"},  {HISTORY_LEADER, "lead0"},
    {HISTORY_MULTILOCK, "multi0"}, {HISTORY_STRIPES, "stripes0"},
    {HISTORY_PLAIN, "{plain0}"},   {HISTORY_FLIGHT, "{flight0}"},
    {HISTORY_LOCK, "brisk0"},      {HISTORY_FAIRLOCK, "brisk1"},
    {HISTORY_RWLOCK, "brisk2"},    {HISTORY_LOCK, "brisk3"},
    {HISTORY_SIGLOCK, "brisk4"},   {HISTORY_LOCK, "brisk5"},
    {HISTORY_LEADER, "brisk6"},    {HISTORY_FAIRLOCK, "brisk7"},
    {HISTORY_RWLOCK, "brisk8"},    {HISTORY_LOCK, "brisk9"},
    {HISTORY_LOCK, "{brisk}10"},   {HISTORY_SIGLOCK, "brisk11"},
};

play_shared *play_shared_map(const char *path, bool create)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0), 0600);
    void *shared = MAP_FAILED;

    if (fd >= 0 && (!create || ftruncate(fd, sizeof(play_shared)) == 0))
        shared = mmap(NULL, sizeof(play_shared), PROT_READ | PROT_WRITE,
                      MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED)
        perror(path);
    if (fd >= 0)
        (void)close(fd);
    return shared == MAP_FAILED ? NULL : shared;
}

void play_shared_unmap(play_shared *shared)
{
    if (shared != NULL)
        (void)munmap(shared, sizeof(*shared));
}

history_event play_event(unsigned name, history_phase phase, history_call call)
{
    history_event event = {.phase = (uint8_t)phase,
                           .call = (uint8_t)call,
                           .kind = (uint8_t)play_names[name].kind};

    event.key = history_key(play_names[name].name, 0);
    (void)snprintf(event.name, sizeof(event.name), "%s", play_names[name].name);
    return event;
}

bool play_has_epochs(unsigned name)
{
    return play_names[name].kind == HISTORY_PLAIN ||
           play_names[name].kind == HISTORY_FLIGHT;
}

bool play_guards_away(unsigned name)
{
    const play_name *of = &play_names[name];

    return of->kind == HISTORY_FAIRLOCK || of->kind == HISTORY_RWLOCK ||
           of->kind == HISTORY_LEADER ||
           (of->kind == HISTORY_LOCK && strchr(of->name, '{') != NULL);
}

void play_epoch_text(unsigned name, uint64_t epoch, char text[PLAY_TEXT])
{
    (void)snprintf(text, PLAY_TEXT, "%s:%" PRIu64, play_names[name].name,
                   epoch);
}

uint64_t play_draw(play_random *random, uint64_t below)
{
    uint64_t x = random->state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (x ^ (x >> 31)) % below;
}
