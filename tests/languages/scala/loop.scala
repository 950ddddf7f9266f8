object Main {
  def main(arguments: Array[String]): Unit = {
    while (true) {}
  }
}
