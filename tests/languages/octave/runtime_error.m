error("error");
