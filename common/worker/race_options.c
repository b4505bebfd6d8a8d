/* How ThreadSanitizer is to work in programs that look for races, told where a kernel can't read
 * it: in the environment it would say which run this is. Built without it, since it is called
 * before all else.
 *
 * The first race ends the program, with monitor/runs/race.c's exit code; what libraries that it
 * calls do is not looked at. */
const char *__tsan_default_options(void);
const char *__tsan_default_suppressions(void);

const char *__tsan_default_options(void)
{
    return "halt_on_error=1:exitcode=66:ignore_noninstrumented_modules=1:symbolize=0:"
           "report_bugs=1:report_atomic_races=1";
}

const char *__tsan_default_suppressions(void)
{
    return "";
}
