// Asks for section 0, which there is not. Wrong answer.
console.log("? 0");
