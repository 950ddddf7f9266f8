defmodule Broken do
  def f(
end
