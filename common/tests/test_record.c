#include "monitor/record.h"

#include <math.h>
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

int main(void)
{
    const int pages[] = {0, 0, 1, 1, 1, -1};
    expect_text(numalab_record_runs(pages, 6), "[[0,2],[1,3],[-1,1]]");
    expect_text(numalab_record_runs(pages, 0), "[]");
    expect_text(numalab_record_number(NAN), "\"NaN\"");
    expect_text(numalab_record_number(-INFINITY), "\"-Infinity\"");
    expect_text(numalab_record_number(0.5), "0.5");

    /* A crash in the guard behind an array is told as an element of it. */
    struct numalab_worker worker = {
        .n = 10, .array_count = 1, .count = {10}, .bytes = {80}, .address = {0x10000000}};
    worker.outcome = (struct numalab_outcome){
        .kind = NUMALAB_CRASHED,
        .doing = "compute",
        .n = 10,
        .signal_number = 11,
        .has_report = true,
        .report = {.fault_address = 0x10000000 + 88, .fault_is_write = 1, .fault_has_address = 1}};
    memcpy(worker.kept_output, "a\x80z\n", 4);
    worker.printed_bytes = 4;
    expect_text(numalab_record_outcome(&worker, numalab_drivers[0]),
                "{\"status\":\"crashed\",\"printed_bytes\":4,\"printed\":\"a?z\\n\","
                "\"doing\":\"compute\",\"n\":10,\"signal\":\"SIGSEGV\",\"frames\":[],"
                "\"address\":\"0x10000058\",\"access\":\"write\","
                "\"place\":{\"array\":\"x\",\"element\":11,\"elements\":10}}");
    worker.outcome.report.fault_address = 0x10000000 - 4;
    json_t *outcome = numalab_record_outcome(&worker, numalab_drivers[0]);
    EXPECT(json_integer_value(json_object_get(json_object_get(outcome, "place"), "element")) == -1);
    json_decref(outcome);

    /* A trap of the compiler's is no instruction of another processor. */
    worker.outcome.signal_number = 4;
    worker.outcome.report = (struct numalab_message){.is_trap = 1};
    worker.printed_bytes = 0;
    outcome = numalab_record_outcome(&worker, numalab_drivers[0]);
    EXPECT(json_is_true(json_object_get(outcome, "is_trap")));
    json_decref(outcome);

    static const struct numalab_array two[] = {{"p", 8}, {"q", 8}};
    const struct numalab_driver driver = {.arrays = two, .array_count = 2};
    const struct numalab_results results = {
        .checked = 9, .wrote_before_array = true, .damaged_array = 1};
    expect_text(numalab_record_results(&results, &driver),
                "{\"checked\":9,\"wrong\":0,\"wrote_before_array\":\"q\"}");
    return failures > 0;
}
