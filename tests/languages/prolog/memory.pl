main :-
    fill([]).

fill(Blocks) :-
    fill([block(1, 2, 3, 4, 5, 6, 7, 8)|Blocks]),
    true.
