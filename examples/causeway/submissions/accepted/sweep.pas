{ The same algorithm as sweep.cpp. }
program sweep;

const
  highest = 10000;

var
  change, level, minutes: array[0..highest + 1] of double;
  n, m, i, before, height, low, high: longint;
  sum, slope: double;

begin
  read(n, m);
  before := 0;
  for i := 1 to n do
  begin
    read(height);
    if height < before then
    begin
      low := height;
      high := before;
    end
    else
    begin
      low := before;
      high := height;
    end;
    if (i > 1) and (low = high) then
      level[low] := level[low] + 1;
    if (i > 1) and (low <> high) then
    begin
      change[low] := change[low] + 1 / (high - low);
      change[high] := change[high] - 1 / (high - low);
    end;
    before := height;
  end;
  sum := level[0];
  slope := change[0];
  for height := 0 to highest do
  begin
    minutes[height] := sum;
    sum := sum + slope + level[height + 1];
    slope := slope + change[height + 1];
  end;
  for i := 1 to m do
  begin
    read(height);
    writeln(minutes[height]:0:9);
  end;
end.
