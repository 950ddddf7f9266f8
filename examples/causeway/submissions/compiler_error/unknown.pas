{ Uses a variable that is not there. Compile error. }
program unknown;

begin
  writeln(minutes);
end.
