die "error";
