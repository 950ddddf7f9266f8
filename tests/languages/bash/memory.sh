text=x
while :; do text=$text$text; done
