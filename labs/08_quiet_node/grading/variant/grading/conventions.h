/* Lab 08, a variant: what counts as a stop, and which difference is worth a word. */
#ifndef QUIET_NODE_CONVENTIONS_H
#define QUIET_NODE_CONVENTIONS_H

#include <stdbool.h>

static const bool merge_stop_rows = @stops.rows@;
static const double not_worth[2] = {@other.share@, @worth.share@};
static const char apart_in_nothing[] = "hardly apart", apart_in_noise[] = "hardly apart and noisy";

#endif
