# Reads everything and says nothing. Wrong answer, as any other: an output without a token.
while read -r _; do :; done
