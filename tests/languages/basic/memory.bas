text$ = "xxxxxxxxxxxxxxxx"
do
    text$ = text$ + text$
loop
