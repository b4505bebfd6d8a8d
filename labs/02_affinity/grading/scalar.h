/* What the kernel is given for s. */
#ifndef AFFINITY_SCALAR_H
#define AFFINITY_SCALAR_H

/* sqrt(2) - 1: one pass of the four loops gives a its old value back, s * a + s * (1 + s) * a,
 * so that nothing overflows however often they run. */
#define STREAM_SCALAR 0.41421356237309504880

#endif
