        global  main
        extern  malloc
        section .text
main:   sub     rsp, 8
next:   mov     edi, 1048576
        call    malloc
        test    rax, rax
        je      full
        mov     rdi, rax
        mov     eax, 1
        mov     ecx, 1048576
        rep     stosb
        jmp     next
full:   mov     eax, 1
        add     rsp, 8
        ret
        section .note.GNU-stack noalloc noexec nowrite progbits
