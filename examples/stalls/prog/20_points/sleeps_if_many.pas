{ Sleeps if the row has more than 15 stalls, and uses no CPU time: the real-time limit ends it. With
  at most 15 stalls it tries every choice. Group 1: 20 points. }
program sleeps_if_many;

uses
  sysutils;

var
  pays: array[0..2499] of int64;
  n, i, choice, best: longint;
  paid, most: int64;

begin
  read(n);
  if n > 15 then
    sleep(3600 * 1000);
  for i := 0 to n - 1 do
    read(pays[i]);
  best := 0;
  most := -1;
  for choice := 0 to (1 shl n) - 1 do
    if choice and (choice shl 1) = 0 then
    begin
      paid := 0;
      for i := 0 to n - 1 do
        if choice and (1 shl i) <> 0 then
          paid := paid + pays[i];
      if paid > most then
      begin
        most := paid;
        best := choice;
      end;
    end;
  writeln(most);
  for i := 0 to n - 1 do
    if best and (1 shl i) <> 0 then
      write(i + 1, ' ');
  writeln;
end.
