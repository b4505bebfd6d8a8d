#include "monitor/record.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "expect.h"

static int failures;

static void expect_text(json_t *value, const char *text)
{
    char *dumped = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    EXPECT(dumped && strcmp(dumped, text) == 0);
    if (dumped && strcmp(dumped, text) != 0) fprintf(stderr, "  it is %s\n", dumped);
    free(dumped);
    json_decref(value);
}

/* What a record says of each kind of outcome: a part of the union, and nothing of the others. */
static void test_kinds(void)
{
    static const struct {
        struct numalab_outcome outcome;
        const char *expected;
    } cases[] = {
        {{.kind = NUMALAB_CRASHED, .crashed = {.signal_number = 8}},
         "\"crashed\",X,\"signal\":\"SIGFPE\""},
        {{.kind = NUMALAB_EXITED, .exited = {.exit_code = 3}}, "\"exited\",X,\"exit_code\":3"},
        {{.kind = NUMALAB_EXITED, .exited = {.exit_code = NUMALAB_UNKNOWN_EXIT_CODE}},
         "\"exited\",X"},
        {{.kind = NUMALAB_TIMED_OUT,
          .timed_out = {.limit_s = 2.0, .is_wall_limit = true, .is_total = true}},
         "\"timed_out\",X,\"limit_s\":2.0,\"limit_of\":\"wall_time\",\"of_all_phases\":true"},
        {{.kind = NUMALAB_TIMED_OUT, .timed_out = {.limit_s = 0.5, .has_progress = true}},
         "\"timed_out\",X,\"limit_s\":0.5,\"limit_of\":\"cpu_time\",\"went_on\":true"},
        {{.kind = NUMALAB_OUT_OF_MEMORY, .out_of_memory = {9, 8}},
         "\"out_of_memory\",X,\"resident_bytes\":9,\"limit_bytes\":8"},
        {{.kind = NUMALAB_TOO_MUCH_OUTPUT, .too_much_output = {7}},
         "\"too_much_output\",X,\"limit_bytes\":7"},
        {{.kind = NUMALAB_TOO_MANY_THREADS, .too_many_threads = {6, 5}},
         "\"too_many_threads\",X,\"threads\":6,\"limit_threads\":5"},
        {{.kind = NUMALAB_NO_ARRAY, .no_array = {true}},
         "\"no_array\",X,\"array_bytes\":0,\"makes_arrays\":false,\"is_map_failed\":true"},
        {{.kind = NUMALAB_ARRAY_GONE},
         "\"array_gone\",X,\"array_bytes\":0,\"makes_arrays\":false,\"is_map_failed\":false"},
        {{.kind = NUMALAB_UNTRACEABLE}, "\"untraceable\",X"},
        {{.kind = NUMALAB_BAD_PROTOCOL}, "\"bad_protocol\",X"},
        {{.kind = NUMALAB_BAD_PROTOCOL, .bad_protocol = {NUMALAB_RAN_WHILE_STOPPED, 0.5, false}},
         "\"bad_protocol\",X,\"disturbance\":\"ran_while_stopped\",\"ran_s\":0.5"},
        {{.kind = NUMALAB_BAD_PROTOCOL, .bad_protocol = {NUMALAB_STARTED_PROCESS, 0.0, true}},
         "\"bad_protocol\",X,\"disturbance\":\"started_process\""},
        {{.kind = NUMALAB_OBSTRUCTED, .obstructed = {-EPERM}},
         "\"obstructed\",X,\"error\":\"Operation not permitted\""},
        {{.kind = NUMALAB_CANCELLED}, "\"cancelled\",X"},
        {{.kind = NUMALAB_KIT_ERROR, .kit_error = {-EIO}},
         "\"kit_error\",X,\"error\":\"Input/output error\""},
    };
    static const char usual[] = "\"printed_bytes\":0,\"doing\":\"compute\",\"n\":0";
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct numalab_worker worker = {.outcome = {.doing = "compute"}};
        const char *x = strchr(cases[i].expected, 'X');
        char expected[256];
        numalab_worker_fail(&worker, cases[i].outcome);
        snprintf(expected, sizeof expected, "{\"status\":%.*s%s%s}", (int)(x - cases[i].expected),
                 cases[i].expected, usual, x + 1);
        expect_text(numalab_record_outcome(&worker, numalab_drivers[0]), expected);
    }
}

int main(void)
{
    test_kinds();
    const int pages[] = {0, 0, 1, 1, 1, -1};
    expect_text(numalab_record_runs(pages, 6), "[[0,2],[1,3],[-1,1]]");
    expect_text(numalab_record_runs(pages, 0), "[]");
    expect_text(numalab_record_number(NAN), "\"NaN\"");
    expect_text(numalab_record_number(-INFINITY), "\"-Infinity\"");
    expect_text(numalab_record_number(0.5), "0.5");

    /* A crash in the guard behind an array is told as an element of it. */
    struct numalab_worker worker = {
        .n = 10, .array_count = 1, .count = {10}, .bytes = {80}, .address = {0x10000000}};
    worker.outcome =
        (struct numalab_outcome){.kind = NUMALAB_CRASHED,
                                 .doing = "compute",
                                 .n = 10,
                                 .crashed = {.signal_number = 11,
                                             .has_report = true,
                                             .report = {.fault_address = 0x10000000 + 88,
                                                        .fault_is_write = 1,
                                                        .fault_has_address = 1}}};
    memcpy(worker.kept_output, "a\x80z\n", 4);
    worker.printed_bytes = 4;
    expect_text(numalab_record_outcome(&worker, numalab_drivers[0]),
                "{\"status\":\"crashed\",\"printed_bytes\":4,\"printed\":\"a?z\\n\","
                "\"doing\":\"compute\",\"n\":10,\"signal\":\"SIGSEGV\",\"frames\":[],"
                "\"address\":\"0x10000058\",\"access\":\"write\","
                "\"place\":{\"array\":\"x\",\"element\":11,\"elements\":10}}");
    worker.outcome.crashed.report.fault_address = 0x10000000 - 4;
    json_t *outcome = numalab_record_outcome(&worker, numalab_drivers[0]);
    EXPECT(json_integer_value(json_object_get(json_object_get(outcome, "place"), "element")) == -1);
    json_decref(outcome);

    /* A trap of the compiler's is no instruction of another processor. */
    worker.outcome.crashed.signal_number = 4;
    worker.outcome.crashed.report = (struct numalab_message){.is_trap = 1};
    worker.printed_bytes = 0;
    outcome = numalab_record_outcome(&worker, numalab_drivers[0]);
    EXPECT(json_is_true(json_object_get(outcome, "is_trap")));
    json_decref(outcome);

    static const struct numalab_array two[] = {{"p", 8}, {"q", 8}};
    const struct numalab_driver driver = {.arrays = two, .array_count = 2};
    const struct numalab_results results = {
        .checked = 9, .wrote_before_array = true, .damaged_array = 1};
    expect_text(numalab_record_results(&results, &driver),
                "{\"checked\":9,\"mismatches\":0,\"wrote_before_array\":\"q\"}");
    return failures > 0;
}
