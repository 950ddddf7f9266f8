{ The same algorithm as stalls.cpp; 100 points. }
program stalls;

var
  pays, best: array[-1..2500] of int64;
  n, i: longint;

begin
  read(n);
  best[-1] := 0;
  best[0] := 0;
  for i := 1 to n do
  begin
    read(pays[i]);
    best[i] := best[i - 1];
    if pays[i] + best[i - 2] > best[i] then
      best[i] := pays[i] + best[i - 2];
  end;
  writeln(best[n]);
  i := n;
  while i > 0 do
    if best[i] = best[i - 1] then
      i := i - 1
    else
    begin
      write(i, ' ');
      i := i - 2;
    end;
  writeln;
end.
