/* A crash in code without lines: all 800,000 units are looked through, each with its table. */
#include "first_touch.h"

__asm__(".section .debug_abbrev,\"\",@progbits\n"
        ".Lown_abbreviations: .byte 1, 0x11, 0, 0x10, 0x17, 0, 0, 0\n"
        ".section .debug_info,\"\",@progbits\n"
        ".rept 800000\n"
        ".long 12\n"
        ".value 4\n"
        ".long .Lown_abbreviations\n"
        ".byte 8, 1\n"
        ".long .Ldebug_line0\n"
        ".endr\n"
        ".text\n"
        "nowhere: movq $0, 8\n"
        "ret\n");
void nowhere(void);

void initialize(size_t n, float *a, float *b, float *c)
{
    for (size_t i = 0; i < n; i++) {
        a[i] = 0.0f;
        b[i] = (float)(i % 7);
        c[i] = 1.0f;
    }
}

void compute(size_t n, float *a, const float *b, const float *c)
{
    a[0] = b[0] * c[0];
    nowhere();
}
