s/^/xxxxxxxxxxxxxxxx/
:more
s/x/xxxxxxxx/g
b more
