defmodule Loop do
  def run, do: run()
end

Loop.run()
