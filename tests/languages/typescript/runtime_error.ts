throw new Error("error");
