using System;
using System.Collections.Generic;

class Program
{
    static void Main()
    {
        var blocks = new List<byte[]>();
        while (true)
        {
            var block = new byte[1 << 20];
            for (int index = 0; index < block.Length; index += 4096)
                block[index] = 1;
            blocks.Add(block);
        }
    }
}
