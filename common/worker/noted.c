/* numalab_note_access: called before an instruction, with the address in rdi and the code (noted.h)
 * above the return address. To the kernel it is as if nothing had been called: no register changes,
 * vectors, masks and flags included, which what it calls may use. Built without ThreadSanitizer. */
#include "noted.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <stdbool.h>

/* Where the processor has no xsave there is nothing beside what fxsave saves. */
bool numalab_noted_has_xsave;

__attribute__((constructor)) static void detect_xsave(void)
{
    unsigned a, b, c, d;
    numalab_noted_has_xsave = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE);
}

/* 0xe7: x87, vectors of 16, 32 and 64 bytes, and masks, which take 2,688 bytes. The header of what
 * is saved has to be zero where xsave writes nothing. */
__asm__(".text\n"
        ".globl numalab_note_access\n"
        ".type numalab_note_access, @function\n"
        "numalab_note_access:\n"
        "    pushfq\n"
        "    pushq %rbp\n"
        "    movq %rsp, %rbp\n"
        "    pushq %rax\n"
        "    pushq %rcx\n"
        "    pushq %rdx\n"
        "    pushq %rsi\n"
        "    pushq %r8\n"
        "    pushq %r9\n"
        "    pushq %r10\n"
        "    pushq %r11\n"
        "    subq $2752, %rsp\n"
        "    andq $-64, %rsp\n"
        "    cld\n"
        "    xorl %edx, %edx\n"
        "    movq %rdx, 512(%rsp)\n"
        "    movq %rdx, 520(%rsp)\n"
        "    movq %rdx, 528(%rsp)\n"
        "    movq %rdx, 536(%rsp)\n"
        "    movq %rdx, 544(%rsp)\n"
        "    movq %rdx, 552(%rsp)\n"
        "    movq %rdx, 560(%rsp)\n"
        "    movq %rdx, 568(%rsp)\n"
        "    movl $0xe7, %eax\n"
        "    cmpb $0, numalab_noted_has_xsave(%rip)\n"
        "    je 1f\n"
        "    xsave64 (%rsp)\n"
        "    jmp 2f\n"
        "1:  fxsave64 (%rsp)\n"
        "2:  movq 24(%rbp), %rsi\n"
        "    movq 16(%rbp), %rdx\n"
        "    call numalab_noted\n"
        "    xorl %edx, %edx\n"
        "    movl $0xe7, %eax\n"
        "    cmpb $0, numalab_noted_has_xsave(%rip)\n"
        "    je 3f\n"
        "    xrstor64 (%rsp)\n"
        "    jmp 4f\n"
        "3:  fxrstor64 (%rsp)\n"
        "4:  leaq -64(%rbp), %rsp\n"
        "    popq %r11\n"
        "    popq %r10\n"
        "    popq %r9\n"
        "    popq %r8\n"
        "    popq %rsi\n"
        "    popq %rdx\n"
        "    popq %rcx\n"
        "    popq %rax\n"
        "    popq %rbp\n"
        "    popfq\n"
        "    ret\n"
        ".size numalab_note_access, . - numalab_note_access\n");
#endif
