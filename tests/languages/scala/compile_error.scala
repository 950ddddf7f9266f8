object Main {
  def main(arguments: Array[String]): Unit = {
    missing()
  }
}
