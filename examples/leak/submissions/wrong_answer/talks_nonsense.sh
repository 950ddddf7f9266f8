# Sends lines that the interactor does not expect, and too many of them. Wrong answer.
read -r _
printf '? \n?\n! \n? -1\n? 1e3\n? 99999999999999999999\n! 1 2\n42\nOK\n\0\377\n'
