object Main {
  def main(arguments: Array[String]): Unit = {
    throw new Exception("error")
  }
}
