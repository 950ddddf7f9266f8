error broken
