main :-
    throw(broken).
