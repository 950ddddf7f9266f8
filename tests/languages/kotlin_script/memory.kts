val blocks = mutableListOf<ByteArray>()
while (true) blocks.add(ByteArray(1 shl 20))
