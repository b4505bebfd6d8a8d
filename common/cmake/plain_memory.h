/* What stands in kernels that are watched by ThreadSanitizer for what its pass does not see, on
 * other processors than x86-64 (compile_watched puts it before a preprocessed kernel, so no macro
 * and no include is of use here). Functions of their own, so that a report has the kernel's line as
 * the caller's. */
extern void *memcpy(void *target, const void *source, unsigned long bytes);
extern void *memmove(void *target, const void *source, unsigned long bytes);
extern void *memset(void *target, int value, unsigned long bytes);

static __attribute__((noinline, unused)) void *
numalab_plain_memcpy(void *target, const void *source, unsigned long bytes)
{
    return memcpy(target, source, bytes);
}

static __attribute__((noinline, unused)) void *
numalab_plain_memmove(void *target, const void *source, unsigned long bytes)
{
    return memmove(target, source, bytes);
}

static __attribute__((noinline, unused)) void *numalab_plain_memset(void *target, int value,
                                                                    unsigned long bytes)
{
    return memset(target, value, bytes);
}
