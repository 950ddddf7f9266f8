const number: number = "text";
