SELECT $a$ $b$
