set blocks {}
while 1 {
    lappend blocks [string repeat [llength $blocks] 1048576]
}
