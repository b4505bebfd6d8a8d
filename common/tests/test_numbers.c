/* Numbers of command lines: by the parser, and by each program that has some. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"
#include "monitor/options.h"
#include "numbers.h"

static int failures;

/* The last two may be numbers elsewhere. */
static const char *const no_whole_numbers[] = {"",
                                               "abc",
                                               "-3",
                                               "+3",
                                               "4x",
                                               "x4",
                                               "0x4",
                                               " 4",
                                               "4 ",
                                               "4\n",
                                               "4.0",
                                               "4e0",
                                               "1 2",
                                               "18446744073709551616",
                                               "99999999999999999999",
                                               "0",
                                               "65537"};
static const char *const no_decimals[] = {
    "",    "abc", "nan", "inf",   "-1",  "+1",  "0x1p3", "1,5", " 1",    "1 ",  "1e",
    "1e+", "e5",  ".",   "1.2.3", "--1", "1e7", "0",     "0.0", "1e400", "1d3", "1e5x"};
enum {
    NO_WHOLE_NUMBERS = sizeof no_whole_numbers / sizeof no_whole_numbers[0],
    NO_DECIMALS = sizeof no_decimals / sizeof no_decimals[0]
};

static void reads_numbers_whole_or_not_at_all(void)
{
    uint64_t number = 7;
    double decimal = 7;
    for (size_t i = 0; i < NO_WHOLE_NUMBERS; i++)
        EXPECT(numalab_read_whole(no_whole_numbers[i], 1, 1 << 16, &number) < 0);
    for (size_t i = 0; i < NO_DECIMALS; i++)
        EXPECT(numalab_read_decimal(no_decimals[i], 1e-300, 1e6, &decimal) < 0);
    EXPECT(number == 7 && decimal == 7);
    EXPECT(numalab_read_whole("18446744073709551615", 0, UINT64_MAX, &number) == 0 &&
           number == UINT64_MAX);
    EXPECT(numalab_read_whole("007", 7, 7, &number) == 0 && number == 7);
    EXPECT(numalab_read_hex("fF", &number) == 0 && number == 255);
    EXPECT(numalab_read_hex("0xff", &number) < 0 && numalab_read_hex("-1", &number) < 0 &&
           numalab_read_hex("10000000000000000", &number) < 0);
    static const struct {
        const char *text;
        double value;
    } decimals[] = {{"10", 10}, {"0.25", 0.25},  {".5", .5},
                    {"5.", 5},  {"1e-05", 1e-5}, {"2E+3", 2e3}};
    for (size_t i = 0; i < sizeof decimals / sizeof decimals[0]; i++)
        EXPECT(numalab_read_decimal(decimals[i].text, 0, 1e6, &decimal) == 0 &&
               decimal == decimals[i].value);
}

/* Whether the monitor takes an option with this value. */
static bool monitor_takes(const char *option, const char *value)
{
    static struct numalab_run_options options;
    char words[4][64] = {"monitor", "check", "--worker", "role=program"}, last[2][64];
    snprintf(last[0], sizeof last[0], "%s", option);
    snprintf(last[1], sizeof last[1], "%s", value);
    char *argv[] = {words[0], words[1], words[2], words[3], last[0], last[1], NULL};
    return numalab_options_parse(&options, 6, argv) != NULL;
}

static void monitor_refuses_what_is_no_number(void)
{
    static const char *const whole[] = {"--threads", "--least-repetitions", "--most-repetitions",
                                        "--traced-pages", "--n"};
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
        EXPECT(monitor_takes(whole[i], "5"));
        for (size_t k = 0; k + 1 < NO_WHOLE_NUMBERS; k++)
            EXPECT(!monitor_takes(whole[i], no_whole_numbers[k]));
    }
    EXPECT(!monitor_takes("--threads", "65537"));
    static const char *const decimal[] = {"--limit-s", "--budget-s", "--repeat-share"};
    for (size_t i = 0; i < sizeof decimal / sizeof decimal[0]; i++) {
        EXPECT(monitor_takes(decimal[i], "0.5") && monitor_takes(decimal[i], "1e+03"));
        for (size_t k = 0; k < NO_DECIMALS; k++)
            if (i == 0 || strtod(no_decimals[k], NULL) != 0 || strlen(no_decimals[k]) == 0)
                EXPECT(!monitor_takes(decimal[i], no_decimals[k]));
    }
    EXPECT(monitor_takes("--ranks", "role:2") && !monitor_takes("--ranks", "role:2x"));
    EXPECT(!monitor_takes("--ranks", "role:-1") && !monitor_takes("--ranks", "role:"));
    EXPECT(monitor_takes("--cut", "role:.5") && !monitor_takes("--cut", "role:nan"));
    EXPECT(monitor_takes("--seed", "00ff") && !monitor_takes("--seed", "0x"));
    EXPECT(!monitor_takes("--sandbox-user", "-1") &&
           !monitor_takes("--sandbox-user", "4294967295"));
}

/* The exit code of a program, *complains: whether it wrote on standard error. */
static int run(char *const *argv, bool *complains)
{
    int pipes[2], status = 0;
    char text[256];
    if (pipe(pipes) < 0) abort();
    const pid_t child = fork();
    if (child == 0) {
        dup2(pipes[1], STDERR_FILENO);
        close(pipes[0]);
        execv(argv[0], argv);
        _exit(127);
    }
    close(pipes[1]);
    waitpid(child, &status, 0); /* there is room for what it writes */
    *complains = read(pipes[0], text, sizeof text) > 0;
    close(pipes[0]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A program, and its words, in one of which an "@" stands for the number. */
static void program_refuses(const char *const *words)
{
    for (size_t k = 0; k < NO_WHOLE_NUMBERS - 2; k++) {
        char text[64], *argv[16] = {NULL};
        bool complains;
        for (size_t i = 0; words[i]; i++) {
            const char *place = strchr(words[i], '@');
            argv[i] = place ? text : (char *)words[i];
            if (place)
                snprintf(text, sizeof text, "%.*s%s%s", (int)(place - words[i]), words[i],
                         no_whole_numbers[k], place + 1);
        }
        const int code = run(argv, &complains);
        EXPECT(code == 2 && complains);
        if (code != 2) fprintf(stderr, "%s: \"%s\": %d\n", words[0], no_whole_numbers[k], code);
    }
}

int main(void)
{
    static const char *const programs[][16] = {
        {CONFINE, "worker", "@", "5", "/bin/true"},
        {CONFINE, "rank", "5", "@", "/bin/true"},
        {GUEST_INIT, "--user", "@:5", "--", "/bin/true"},
        {GUEST_INIT, "--user", "5:6:@", "--", "/bin/true"},
        {RELAY, "--parent", "@", "--rate", "5"},
        {RELAY, "--parent", "1", "--port", "@"},
        {PROBE, "chase", "bytes=65536", "steps=@"},
        {PROBE, "load", "bytes=65536", "pus=0,@"},
        {PROBE, "mixes", "loops=1+0+0", "bytes=65536", "repetitions=@"},
        {PROBE, "mixes", "loops=@+0+0", "bytes=65536"},
    };
    reads_numbers_whole_or_not_at_all();
    monitor_refuses_what_is_no_number();
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) program_refuses(programs[i]);
    return failures > 0;
}
