begin
  writeln(missing);
end.
