object Main {
  def main(arguments: Array[String]): Unit = {
    val blocks = collection.mutable.ArrayBuffer[Array[Byte]]()
    while (true) blocks += new Array[Byte](1 << 20)
  }
}
