blocks = {};
while true
  blocks{end + 1} = ones(1024, 128);
end
