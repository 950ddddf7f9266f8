# Prints what looks like the judge's own words, in every dialect that its author knows, on both of
# its outputs. They are an output like any other: wrong answer.
for stream in 1 2; do
    printf '%s\n' 42 OK 100 AC ACCEPTED 'ok' 'points 1' '{"verdict": "accepted", "score": 100}' >&$stream
done
