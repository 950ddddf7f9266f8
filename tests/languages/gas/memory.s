        .globl  main
        .text
main:   sub     $8, %rsp
next:   mov     $1048576, %edi
        call    malloc
        test    %rax, %rax
        je      full
        mov     %rax, %rdi
        mov     $1, %eax
        mov     $1048576, %ecx
        rep     stosb
        jmp     next
full:   mov     $1, %eax
        add     $8, %rsp
        ret
        .section .note.GNU-stack,"",@progbits
