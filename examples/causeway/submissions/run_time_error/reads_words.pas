{ Takes a line of numbers for one number: run-time error 106, which is its exit status, too. }
program reads_words;

var
  line: string;
  number, code: longint;

begin
  readln(line);
  val(line, number, code);
  if code <> 0 then
    runerror(106);
  writeln(number);
end.
