local blocks = {}
while true do
    blocks[#blocks + 1] = ("x"):rep(1048576) .. #blocks
end
