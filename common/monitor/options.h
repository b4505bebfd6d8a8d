/* The monitor's command line. */
#ifndef NUMALAB_MONITOR_OPTIONS_H
#define NUMALAB_MONITOR_OPTIONS_H

#include "monitor/runs/runs.h"

/* Fills options from the command line. The caller adds node, cancel_fd, limits.thread_count and
 * limits.heartbeat, and, if they are not given, thread_count, a seed and the rest of sampling.
 * Texts point into argv, whose words are changed. Returns the requested run; or NULL after a
 * message with the usage on standard error. */
const struct numalab_run *numalab_options_parse(struct numalab_run_options *options, int argc,
                                                char **argv);

#endif
