/* Lab 08: conventions that a variant of the lab has others for. For the monitor; a kernel has the
 * contract. */
#ifndef QUIET_NODE_CONVENTIONS_H
#define QUIET_NODE_CONVENTIONS_H

#include <stdbool.h>

/* Whether stops between which no gap is without one count as one. */
static const bool merge_stop_rows = false;

/* By which share A and B may take longer than the other, and no word is worth it. */
static const double not_worth[2] = {0.0, 0.0};

/* Kinds of pairs whose difference is never worth one. */
static const char apart_in_nothing[] = "equal", apart_in_noise[] = "equal and noisy";

#endif
