procedure Main is
   type Block is array (1 .. 2 ** 20) of Character;
   type Link is access Block;
   Last : Link;
begin
   loop
      Last := new Block'(others => 'x');
   end loop;
end Main;
