/* What stands in kernels that are watched by ThreadSanitizer for what its pass does not see
 * (compile_watched puts it before a preprocessed kernel, so no macro and no include is of use
 * here). Functions of their own, so that a report has the kernel's line as the caller's. */
extern void *memcpy(void *to, const void *from, unsigned long bytes);
extern void *memmove(void *to, const void *from, unsigned long bytes);
extern void *memset(void *to, int value, unsigned long bytes);

static __attribute__((noinline, unused)) void *numalab_plain_memcpy(void *to, const void *from,
                                                                    unsigned long bytes)
{
    return memcpy(to, from, bytes);
}

static __attribute__((noinline, unused)) void *numalab_plain_memmove(void *to, const void *from,
                                                                     unsigned long bytes)
{
    return memmove(to, from, bytes);
}

static __attribute__((noinline, unused)) void *numalab_plain_memset(void *to, int value,
                                                                    unsigned long bytes)
{
    return memset(to, value, bytes);
}

typedef double numalab_plain_v2df __attribute__((vector_size(16)));
typedef double numalab_plain_v4df __attribute__((vector_size(32)));
typedef float numalab_plain_v4sf __attribute__((vector_size(16)));
typedef float numalab_plain_v8sf __attribute__((vector_size(32)));
typedef long long numalab_plain_v2di __attribute__((vector_size(16)));
typedef long long numalab_plain_v4di __attribute__((vector_size(32)));

static __attribute__((noinline, unused)) void numalab_plain_ia32_movnti(int *to, int value)
{
    *to = value;
}

static __attribute__((noinline, unused)) void numalab_plain_ia32_movnti64(long long *to,
                                                                          long long value)
{
    *to = value;
}

static __attribute__((noinline, unused)) void numalab_plain_ia32_movntpd(double *to,
                                                                         numalab_plain_v2df value)
{
    *(numalab_plain_v2df *)to = value;
}

static __attribute__((noinline, unused)) void
numalab_plain_ia32_movntpd256(double *to, numalab_plain_v4df value)
{
    *(numalab_plain_v4df *)to = value;
}

static __attribute__((noinline, unused)) void numalab_plain_ia32_movntps(float *to,
                                                                         numalab_plain_v4sf value)
{
    *(numalab_plain_v4sf *)to = value;
}

static __attribute__((noinline, unused)) void
numalab_plain_ia32_movntps256(float *to, numalab_plain_v8sf value)
{
    *(numalab_plain_v8sf *)to = value;
}

static __attribute__((noinline, unused)) void numalab_plain_ia32_movntdq(numalab_plain_v2di *to,
                                                                         numalab_plain_v2di value)
{
    *to = value;
}

static __attribute__((noinline, unused)) void
numalab_plain_ia32_movntdq256(numalab_plain_v4di *to, numalab_plain_v4di value)
{
    *to = value;
}
