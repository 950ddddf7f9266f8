throw new Error "error"
