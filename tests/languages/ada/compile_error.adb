procedure Main is
begin
   Missing;
end Main;
