BEGIN {
    text = "x"
    while (1)
        text = text text
}
