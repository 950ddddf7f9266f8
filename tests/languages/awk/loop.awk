BEGIN {
    while (1)
        ;
}
