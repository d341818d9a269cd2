/* SPDX-License-Identifier: MIT */

/* What the server is fit for; of a cluster each master, one after the other. */

#include <latchkey/inspect.h>

#include "base/error.h"
#include "base/mem.h"
#include "claims/cluster.h"
#include "claims/node.h"
#include "claims/work.h"
#include "inspect/exam.h"

struct doctor {
    lk__probe probe;        /* first */
    struct lk__exam *exams; /* the one under way first */
    lk_health_cb cb;
    void *data;
};

static struct doctor *doctor_of(lk__probe *probe)
{
    return (struct doctor *)(void *)probe;
}

static bool is_examined(const struct doctor *doctor, const lk__node *node)
{
    const struct lk__exam *exam = doctor->exams;

    while (exam != NULL && exam->node != node)
        exam = exam->next;
    return exam != NULL;
}

/* The first that was not yet. Without one nothing is under way any more. */
static void examine_next(struct doctor *doctor);

static void on_over(struct lk__exam *exam)
{
    examine_next(doctor_of(exam->probe));
}

static void examine_next(struct doctor *doctor)
{
    const lk_client *client = doctor->probe.call.client;
    lk__node *node = lk__cluster_next(client, NULL);
    struct lk__exam *exam;

    while (node != NULL && is_examined(doctor, node))
        node = lk__cluster_next(client, node);
    if (node == NULL) {
        lk__probe_sift_missed(&doctor->probe);
        return;
    }
    exam = lk__exam_new(&doctor->probe, node);
    if (exam == NULL) {
        lk__probe_end(&doctor->probe, LK_ENOMEM, NULL);
        return;
    }
    exam->over = on_over;
    exam->next = doctor->exams;
    doctor->exams = exam;
    lk__exam_begin(exam);
}

/* ---- the call ------------------------------------------------------------------ */

static void begin(lk__probe *probe)
{
    examine_next(doctor_of(probe));
}

static void cleanup(lk__probe *probe)
{
    struct doctor *doctor = doctor_of(probe);
    struct lk__exam *exam;

    while ((exam = doctor->exams) != NULL) {
        doctor->exams = exam->next;
        lk__exam_free(exam);
    }
}

static struct doctor *doctor_new(void)
{
    struct doctor *doctor = lk__alloc(sizeof(*doctor));

    if (doctor != NULL) {
        doctor->probe.begin = begin;
        doctor->probe.cleanup = cleanup;
    }
    return doctor;
}

/* The last one that was examined is the first in the list. */
static lk_health *cluster_judge(struct doctor *doctor, const char *missing)
{
    lk__facts **all;
    size_t count = 0, at;
    lk_health *health;

    for (struct lk__exam *exam = doctor->exams; exam != NULL; exam = exam->next)
        count += !exam->is_missed;
    all = lk__alloc((count + 1) * sizeof(lk__facts *));
    if (all == NULL)
        return NULL;
    at = count;
    for (struct lk__exam *exam = doctor->exams; exam != NULL;
         exam = exam->next) {
        if (!exam->is_missed)
            all[--at] = &exam->facts;
    }
    health = lk__health_judge_cluster(all, count, missing);
    lk__free(all);
    return health;
}

static lk_status doctor_result(struct doctor *doctor, lk_health **ret_health)
{
    bool is_cluster = doctor->probe.call.client->work->cluster != NULL;
    char *missing = lk__probe_missing(&doctor->probe);

    *ret_health = NULL;
    for (struct lk__exam *exam = doctor->exams; exam != NULL; exam = exam->next)
        lk__exam_complete(exam);
    if (is_cluster && missing != NULL)
        *ret_health = cluster_judge(doctor, missing);
    else if (!is_cluster)
        *ret_health = lk__health_judge(&doctor->exams->facts);
    lk__free(missing);
    return *ret_health != NULL ? LK_OK : LK_ENOMEM;
}

lk_status
lk_health_check(lk_client *client, int64_t wait_ms, lk_health **ret_health)
{
    struct doctor *doctor;
    lk_status status;

    if (ret_health == NULL)
        return lk__fail(LK_EINVAL, "ret_health is NULL");
    doctor = doctor_new();
    if (doctor == NULL)
        return LK_ENOMEM;
    status = lk__probe_run(&doctor->probe, client, wait_ms);
    if (status == LK_OK)
        status = doctor_result(doctor, ret_health);
    lk__probe_release(&doctor->probe);
    return status;
}

static void deliver(lk__probe *probe)
{
    struct doctor *doctor = doctor_of(probe);
    lk_status status = probe->call.status;
    lk_health *health = NULL;

    if (status == LK_OK)
        status = doctor_result(doctor, &health);
    doctor->cb(status, health, doctor->data);
}

lk_status lk_health_check_async(lk_client *client, int64_t wait_ms,
                                lk_health_cb cb, void *data)
{
    struct doctor *doctor;

    if (cb == NULL)
        return lk__fail(LK_EINVAL, "the callback is NULL");
    doctor = doctor_new();
    if (doctor == NULL)
        return LK_ENOMEM;
    doctor->probe.deliver = deliver;
    doctor->cb = cb;
    doctor->data = data;
    return lk__probe_run_async(&doctor->probe, client, wait_ms);
}
