{ The same algorithm as halve.cpp. }
program halve;

var
  n, q, first, last, middle: longint;
  answer: string;

begin
  readln(n, q);
  first := 1;
  last := n;
  while first < last do
  begin
    middle := (first + last + 1) div 2;
    writeln('? ', middle);
    flush(output);
    readln(answer);
    if answer = 'wet' then
      first := middle
    else
      last := middle - 1;
  end;
  writeln('! ', first);
end.
