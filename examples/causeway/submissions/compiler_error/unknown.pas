{ Uses an undeclared variable. Compile error. }
program unknown;

begin
  writeln(minutes);
end.
