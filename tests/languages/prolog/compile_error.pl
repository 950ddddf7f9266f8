main :-
    writeln(1
