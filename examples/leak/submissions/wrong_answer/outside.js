// Asks for section 0, which does not exist. Wrong answer.
console.log("? 0");
