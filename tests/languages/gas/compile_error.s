        .globl  main
        .text
main:   missing
        .section .note.GNU-stack,"",@progbits
