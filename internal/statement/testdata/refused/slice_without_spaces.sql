SELECT names[first:last]
