{ Reads a line of several numbers as one number: run-time error 106, which is also the exit status.
  }
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
