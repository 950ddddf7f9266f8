using System;
using System.Collections.Generic;

class Program
{
    static void Main()
    {
        Missing();
    }
}
