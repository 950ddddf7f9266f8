{ The final `end` is missing. The program cannot be compiled: 0 points. }
program no_program;

begin
  writeln('OK')
