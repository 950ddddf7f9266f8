# Reads all input and prints nothing. Wrong answer: an output without a token.
while read -r _; do :; done
