#define _GNU_SOURCE
#include "monitor/processes/environment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"
#include "monitor/processes/sandbox.h"

static int failures;

/* The value of a name, of which there is one; NULL where it is missing. */
static const char *value_of(char *const *environment, const char *name)
{
    const size_t length = strlen(name);
    const char *value = NULL;
    for (; *environment; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=') {
            EXPECT(value == NULL);
            value = *environment + length + 1;
        }
    return value;
}

static void expect_value(char *const *environment, const char *name, const char *expected)
{
    const char *value = value_of(environment, name);
    EXPECT(expected ? value && strcmp(value, expected) == 0 : value == NULL);
}

int main(void)
{
    setenv("OMP_NUM_THREADS", "4", 1);
    setenv("OMP_NUM", "a name that another one begins with", 1);
    setenv("EDITOR", "ed", 1);

    struct numalab_variables variables = {0};
    EXPECT(numalab_variables_set(&variables, "OMP_NUM_THREADS", "1") == 0);
    EXPECT(numalab_variables_set(&variables, "OMP_NUM_THREADS", "2") == 0);
    EXPECT(numalab_variables_set(&variables, "OMP_PLACES", "") == 0);
    EXPECT(numalab_variables_set(&variables, "PRIVATE", "x=y") == 0);
    EXPECT(variables.count == 3);

    char **environment = numalab_environment_make(&variables, NULL);
    EXPECT(environment != NULL);
    expect_value(environment, "OMP_NUM_THREADS", "2");
    expect_value(environment, "OMP_NUM", "a name that another one begins with");
    expect_value(environment, "OMP_PLACES", "");
    expect_value(environment, "PRIVATE", "x=y");
    expect_value(environment, "EDITOR", "ed");
    free(environment);
    EXPECT(strcmp(getenv("OMP_NUM_THREADS"), "4") == 0 && !getenv("OMP_PLACES"));

    /* In a sandbox, whoever has set them. */
    environment = numalab_environment_make(&variables, numalab_sandbox_needs);
    expect_value(environment, "OMP_NUM_THREADS", "2");
    expect_value(environment, "EDITOR", NULL);
    expect_value(environment, "PRIVATE", NULL);
    free(environment);

    environment = numalab_environment_make(NULL, NULL);
    expect_value(environment, "OMP_NUM_THREADS", "4");
    free(environment);

    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g",
                                        "h", "i", "j", "k", "l", "m"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        EXPECT(numalab_variables_set(&variables, names[i], "1") == 0);
    EXPECT(numalab_variables_set(&variables, "one too many", "1") == -E2BIG);
    EXPECT(numalab_variables_set(&variables, "m", "2") == 0);
    return failures > 0;
}
