{ Has no end, and is no program: it cannot be compiled, 0 points. }
program no_program;

begin
  writeln('OK')
