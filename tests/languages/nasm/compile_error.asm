        global  main
        section .text
main:   missing rax, 1
        section .note.GNU-stack noalloc noexec nowrite progbits
