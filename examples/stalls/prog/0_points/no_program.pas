{ The final `end` is missing. It cannot be compiled: 0 points. }
program no_program;

begin
  writeln('OK')
