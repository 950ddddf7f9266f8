: run begin again ;

run
