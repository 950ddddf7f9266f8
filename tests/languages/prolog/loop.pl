main :-
    repeat,
    fail.
