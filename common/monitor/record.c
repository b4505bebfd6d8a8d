#define _GNU_SOURCE
#include "record.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "processes/heartbeat.h"
#include "refused_calls.h"
#include "threads.h"

static const char *const outcome_names[] = {
    [NUMALAB_OK] = "ok",
    [NUMALAB_CRASHED] = "crashed",
    [NUMALAB_EXITED] = "exited",
    [NUMALAB_TIMED_OUT] = "timed_out",
    [NUMALAB_OUT_OF_MEMORY] = "out_of_memory",
    [NUMALAB_TOO_MUCH_OUTPUT] = "too_much_output",
    [NUMALAB_TOO_MANY_THREADS] = "too_many_threads",
    [NUMALAB_NO_ARRAY] = "no_array",
    [NUMALAB_ARRAY_GONE] = "array_gone",
    [NUMALAB_UNTRACEABLE] = "untraceable",
    [NUMALAB_BAD_PROTOCOL] = "bad_protocol",
    [NUMALAB_OBSTRUCTED] = "obstructed",
    [NUMALAB_CANCELLED] = "cancelled",
    [NUMALAB_KIT_ERROR] = "kit_error",
};

static const char *const disturbance_names[] = {
    [NUMALAB_RAN_WHILE_STOPPED] = "ran_while_stopped",
    [NUMALAB_STARTED_PROCESS] = "started_process",
    [NUMALAB_MAPPED_TWICE] = "mapped_twice",
};

json_t *numalab_record_number(double value)
{
    if (isnan(value)) return json_string("NaN");
    if (isinf(value)) return json_string(value > 0 ? "Infinity" : "-Infinity");
    return json_real(value);
}

json_t *numalab_record_list(const struct numalab_list *list)
{
    json_t *runs = json_array();
    for (size_t first = 0, next; first < list->count; first = next) {
        next = first + 1;
        while (next < list->count && list->is_same(list->items, next, first)) next++;
        json_array_append_new(runs, json_pack("[oI]", list->describe(list->items, first),
                                              (json_int_t)(next - first)));
    }
    return runs;
}

static bool is_same_number(const void *items, size_t a, size_t b)
{
    const int *value = items;
    return value[a] == value[b];
}

static json_t *describe_number(const void *items, size_t i)
{
    const int *value = items;
    return json_integer(value[i]);
}

json_t *numalab_record_runs(const int *value, size_t count)
{
    return numalab_record_list(
        &(struct numalab_list){value, count, is_same_number, describe_number});
}

static json_t *signal_name(int number)
{
    const char *abbreviation = sigabbrev_np(number);
    char name[32];
    if (!abbreviation) return json_sprintf("signal %d", number);
    snprintf(name, sizeof name, "SIG%s", abbreviation);
    return json_string(name);
}

/* Which array's guard or body an address lies in. */
static json_t *describe_address(const struct numalab_worker *worker,
                                const struct numalab_driver *driver, uint64_t address)
{
    for (size_t i = 0; i < worker->array_count; i++) {
        const uint64_t first = worker->address[i], end = first + worker->bytes[i];
        if (!first || address + NUMALAB_GUARD_BYTES < first || address >= end + NUMALAB_GUARD_BYTES)
            continue;
        int64_t offset = (int64_t)(address - first);
        int64_t element_bytes = (int64_t)driver->arrays[i].element_bytes;
        int64_t element =
            offset >= 0 ? offset / element_bytes : -((-offset + element_bytes - 1) / element_bytes);
        return json_pack("{ss sI sI}", "array", driver->arrays[i].name, "element",
                         (json_int_t)element, "elements", (json_int_t)worker->count[i]);
    }
    return json_null();
}

static void add_crash_report(json_t *object, const struct numalab_worker *worker,
                             const struct numalab_driver *driver)
{
    const struct numalab_message *report = &worker->outcome.crashed.report;
    json_t *frames = json_array();
    for (uint32_t i = 0; i < report->frame_count && i < NUMALAB_MAX_FRAMES; i++)
        json_array_append_new(frames, json_integer((json_int_t)report->frame[i]));
    json_object_set_new(object, "frames", frames);
    if (report->signal_number == SIGSYS) {
        const char *name = numalab_refused_call_name(report->system_call);
        json_object_set_new(object, "system_call",
                            name ? json_string(name) : json_sprintf("%d", report->system_call));
    }
    if (report->is_trap) json_object_set_new(object, "is_trap", json_true());
    if (!report->fault_has_address) return;
    json_object_set_new(object, "address",
                        json_sprintf("0x%llx", (unsigned long long)report->fault_address));
    json_object_set_new(object, "access",
                        report->fault_is_write < 0
                            ? json_null()
                            : json_string(report->fault_is_write ? "write" : "read"));
    json_object_set_new(object, "place", describe_address(worker, driver, report->fault_address));
}

/* What was printed first, as text whatever it is. */
static json_t *printable(const struct numalab_worker *worker)
{
    char text[NUMALAB_KEPT_OUTPUT_BYTES];
    size_t count =
        worker->printed_bytes < sizeof text ? (size_t)worker->printed_bytes : sizeof text;
    for (size_t i = 0; i < count; i++) {
        unsigned char c = (unsigned char)worker->kept_output[i];
        text[i] = c == '\n' || c == '\t' || (c >= ' ' && c < 127) ? (char)c : '?';
    }
    return json_stringn(text, count);
}

static void add_number(json_t *object, const char *key, uint64_t number)
{
    json_object_set_new(object, key, json_integer((json_int_t)number));
}

/* What is known of how it ended, and is not of all. */
static void add_cause(json_t *object, const struct numalab_worker *worker,
                      const struct numalab_driver *driver)
{
    const struct numalab_outcome *outcome = &worker->outcome;
    switch (outcome->kind) {
    case NUMALAB_CRASHED:
        json_object_set_new(object, "signal", signal_name(outcome->crashed.signal_number));
        if (outcome->crashed.has_report) add_crash_report(object, worker, driver);
        break;
    case NUMALAB_EXITED:
        if (outcome->exited.exit_code != NUMALAB_UNKNOWN_EXIT_CODE)
            json_object_set_new(object, "exit_code", json_integer(outcome->exited.exit_code));
        break;
    case NUMALAB_TIMED_OUT:
        json_object_set_new(object, "limit_s", json_real(outcome->timed_out.limit_s));
        json_object_set_new(
            object, "limit_of",
            json_string(outcome->timed_out.is_wall_limit ? "wall_time" : "cpu_time"));
        if (worker->kind == NUMALAB_RANK)
            add_number(object, "ranks_waiting", outcome->timed_out.pending_ranks);
        if (outcome->timed_out.is_total) json_object_set_new(object, "of_all_phases", json_true());
        if (outcome->timed_out.has_progress) json_object_set_new(object, "went_on", json_true());
        break;
    case NUMALAB_OUT_OF_MEMORY:
        add_number(object, "resident_bytes", outcome->out_of_memory.resident_bytes);
        add_number(object, "limit_bytes", outcome->out_of_memory.limit_bytes);
        break;
    case NUMALAB_TOO_MUCH_OUTPUT:
        add_number(object, "limit_bytes", outcome->too_much_output.limit_bytes);
        break;
    case NUMALAB_TOO_MANY_THREADS:
        add_number(object, "threads", outcome->too_many_threads.threads);
        add_number(object, "limit_threads", outcome->too_many_threads.most_threads);
        break;
    case NUMALAB_OBSTRUCTED:
        json_object_set_new(object, "error", json_string(strerror(-outcome->obstructed.error)));
        break;
    case NUMALAB_KIT_ERROR:
        json_object_set_new(object, "error", json_string(strerror(-outcome->kit_error.error)));
        break;
    case NUMALAB_NO_ARRAY:
    case NUMALAB_ARRAY_GONE:
        add_number(object, "array_bytes", worker->array_bytes);
        json_object_set_new(object, "makes_arrays", json_boolean(worker->makes_arrays));
        json_object_set_new(
            object, "is_map_failed",
            json_boolean(outcome->kind == NUMALAB_NO_ARRAY && outcome->no_array.is_map_failed));
        break;
    case NUMALAB_BAD_PROTOCOL:
        if (outcome->bad_protocol.disturbance == NUMALAB_FORGED_MESSAGE) break;
        json_object_set_new(object, "disturbance",
                            json_string(disturbance_names[outcome->bad_protocol.disturbance]));
        if (outcome->bad_protocol.disturbance == NUMALAB_RAN_WHILE_STOPPED)
            json_object_set_new(object, "ran_s", json_real(outcome->bad_protocol.ran_s));
        break;
    case NUMALAB_OK:
    case NUMALAB_UNTRACEABLE:
    case NUMALAB_CANCELLED:
        break;
    }
}

/* printer: the worker that has what was printed. */
static json_t *describe_outcome(const struct numalab_worker *worker,
                                const struct numalab_worker *printer,
                                const struct numalab_driver *driver)
{
    const struct numalab_outcome *outcome = &worker->outcome;
    json_t *object = json_object();
    json_object_set_new(object, "status", json_string(outcome_names[outcome->kind]));
    const double paused_s = numalab_heartbeat_paused_s(worker->limits.heartbeat);
    if (paused_s > 0) json_object_set_new(object, "paused_s", json_real(paused_s));
    add_number(object, "printed_bytes", printer->printed_bytes);
    if (printer->printed_bytes) json_object_set_new(object, "printed", printable(printer));
    if (outcome->kind == NUMALAB_OK) return object;

    json_object_set_new(object, "doing", json_string(outcome->doing));
    add_number(object, "n", outcome->n);
    if (driver->n_unit) json_object_set_new(object, "n_unit", json_string(driver->n_unit));
    add_cause(object, worker, driver);
    return object;
}

json_t *numalab_record_outcome(const struct numalab_worker *worker,
                               const struct numalab_driver *driver)
{
    return describe_outcome(worker, worker, driver);
}

/* Whether it is known which rank of a job the outcome is of. */
static bool is_attributed(const struct numalab_outcome *outcome)
{
    switch (outcome->kind) {
    case NUMALAB_EXITED:
        return !outcome->exited.is_unattributed;
    case NUMALAB_BAD_PROTOCOL:
        return !outcome->bad_protocol.is_unattributed;
    case NUMALAB_TIMED_OUT:
        return outcome->timed_out.pending_ranks <= 1;
    default:
        return true;
    }
}

json_t *numalab_record_job(const struct numalab_job *job, const struct numalab_driver *driver)
{
    const struct numalab_worker *worker = job->failed       ? job->failed
                                          : job->rank_count ? &job->rank[0]
                                                            : &job->launcher; /* never started */
    /* The first rank has what any of them printed. */
    const bool is_rank = driver->rank_counts && worker != &job->launcher;
    json_t *object = describe_outcome(worker, is_rank ? &job->rank[0] : worker, driver);
    if (!driver->rank_counts) return object;
    json_object_set_new(object, "ranks", json_integer((json_int_t)job->rank_count));
    if (!is_rank) return object;
    if (job->failed && is_attributed(&worker->outcome))
        json_object_set_new(object, "rank", json_integer((json_int_t)worker->rank));
    return object;
}

json_t *numalab_record_ranks(const struct numalab_job *job, const struct numalab_node *node)
{
    json_t *list = json_array();
    for (size_t i = 0; i < job->rank_count; i++) {
        struct numalab_threads threads = {0};
        numalab_threads_read(job->rank[i].pid, &threads);
        json_array_append_new(list, json_pack("{sI so}", "rank", (json_int_t)i, "threads",
                                              numalab_threads_describe(&threads, node)));
        numalab_threads_free(&threads);
    }
    return list;
}

/* Adds the digits of whole numbers, where a double leaves some out. */
static void add_digits(json_t *first_mismatch, const struct numalab_mismatch *first)
{
    const double most = 0x1p53;
    if (!first->actual_digits[0] || (fabs(first->actual) < most && fabs(first->expected) < most))
        return;
    json_object_set_new(first_mismatch, "expected_digits", json_string(first->expected_digits));
    json_object_set_new(first_mismatch, "actual_digits", json_string(first->actual_digits));
}

/* Adds row and column, where the array has such. */
static void add_place(json_t *first_mismatch, const struct numalab_results *results,
                      const struct numalab_driver *driver)
{
    const struct numalab_mismatch *first = &results->first_mismatch;
    size_t row, column;
    if (!driver->place ||
        !driver->place(results->mismatch_n, first->array, first->element, &row, &column))
        return;
    json_object_set_new(first_mismatch, "row", json_integer((json_int_t)row));
    json_object_set_new(first_mismatch, "column", json_integer((json_int_t)column));
}

static json_t *describe_requests(const struct numalab_results *results)
{
    static const char *const faults[NUMALAB_REQUEST_FAULTS] = {
        [NUMALAB_NEVER_COMPLETED] = "never_completed",
        [NUMALAB_GIVEN_UP] = "given_up",
        [NUMALAB_SEND_CHANGED] = "send_changed",
    };
    const struct numalab_request_note *note = &results->requests;
    json_t *frames = json_array();
    for (size_t i = 0; i < NUMALAB_REQUEST_FRAMES && note->frame[i]; i++)
        json_array_append_new(frames, json_integer((json_int_t)note->frame[i]));
    char call[NUMALAB_CALL_BYTES];
    snprintf(call, sizeof call, "%.*s", (int)sizeof note->call - 1, note->call);
    for (char *c = call; *c; c++)
        if (*c < ' ' || *c > '~') *c = '?'; /* the worker could have forged it */
    return json_pack("{ss sI ss sI ss so}", "fault", faults[results->request_fault], "count",
                     (json_int_t)note->count, "call", call, "rank",
                     (json_int_t)results->requests_rank, "phase", results->requests_phase, "frames",
                     frames);
}

json_t *numalab_record_results(const struct numalab_results *results,
                               const struct numalab_driver *driver)
{
    json_t *object = json_pack("{sI sI}", "checked", (json_int_t)results->checked, "mismatches",
                               (json_int_t)results->mismatches);
    if (driver->n_unit) json_object_set_new(object, "n_unit", json_string(driver->n_unit));
    if (results->mismatches) {
        const struct numalab_mismatch *first = &results->first_mismatch;
        json_object_set_new(
            object, "first_mismatch",
            json_pack("{ss sI so so ss sI}", "array", driver->arrays[first->array].name, "element",
                      (json_int_t)first->element, "expected",
                      numalab_record_number(first->expected), "actual",
                      numalab_record_number(first->actual), "phase", results->mismatch_phase,
                      "repetition", (json_int_t)results->mismatch_repetition));
        add_digits(json_object_get(object, "first_mismatch"), first);
        add_place(json_object_get(object, "first_mismatch"), results, driver);
        if (results->mismatch_row)
            json_object_set_new(json_object_get(object, "first_mismatch"), "row_name",
                                json_string(results->mismatch_row));
        if (results->mismatch_remark[0])
            json_object_set_new(json_object_get(object, "first_mismatch"), "remark",
                                json_string(results->mismatch_remark));
        if (driver->rank_counts)
            json_object_set_new(json_object_get(object, "first_mismatch"), "rank",
                                json_integer((json_int_t)results->mismatch_rank));
    }
    if (results->required_messages)
        json_object_set_new(object, "too_few_messages",
                            json_pack("{sI sI}", "required", (json_int_t)results->required_messages,
                                      "observed", (json_int_t)results->actual_messages));
    if (results->requests.count)
        json_object_set_new(object, "requests", describe_requests(results));
    if (results->required_bytes)
        json_object_set_new(object, "too_few_bytes",
                            json_pack("{sI sI}", "required", (json_int_t)results->required_bytes,
                                      "observed", (json_int_t)results->actual_bytes));
    if (results->early_messages) add_number(object, "messages_ahead", results->early_messages);
    if (results->is_replaced)
        json_object_set_new(object, "replaced_array",
                            json_string(driver->arrays[results->replaced_array].name));
    if (results->wrote_before_array)
        json_object_set_new(object, "wrote_before_array",
                            json_string(driver->arrays[results->damaged_array].name));
    if (results->wrote_after_array)
        json_object_set_new(object, "wrote_after_array",
                            json_string(driver->arrays[results->damaged_array].name));
    return object;
}
