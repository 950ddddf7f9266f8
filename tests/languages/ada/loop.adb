procedure Main is
   Count : Long_Long_Integer := 0;
   pragma Volatile (Count);
begin
   loop
      Count := (Count + 1) mod 2 ** 30;
   end loop;
end Main;
