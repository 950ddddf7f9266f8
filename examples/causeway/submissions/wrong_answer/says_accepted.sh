# Prints text that looks like the judge's own message, in the format of every known judge, on
# standard output and standard error. The text counts as output: wrong answer.
for stream in 1 2; do
    printf '%s\n' 42 OK 100 AC ACCEPTED 'ok' 'points 1' >&$stream
    printf '%s\n' '{"verdict": "accepted", "score": 100}' >&$stream
done
