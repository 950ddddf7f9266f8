# Reads all input and prints nothing. Wrong answer: the output contains no token.
while read -r _; do :; done
