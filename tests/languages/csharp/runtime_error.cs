using System;
using System.Collections.Generic;

class Program
{
    static void Main()
    {
        throw new Exception("error");
    }
}
