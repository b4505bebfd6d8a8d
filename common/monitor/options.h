/* The monitor's command line. */
#ifndef NUMALAB_MONITOR_OPTIONS_H
#define NUMALAB_MONITOR_OPTIONS_H

#include "monitor/runs/runs.h"

/* Fills options, but for what the node says (node, and thread_count or what the sampling
 * has of it where they are 0), a seed that is not given, and cancel_fd. Texts are those of argv,
 * which is changed. Returns the run that is asked for; or NULL, having said on standard error what
 * is wrong and how the monitor is used. */
const struct numalab_run *numalab_options_parse(struct numalab_run_options *options, int argc,
                                                char **argv);

#endif
