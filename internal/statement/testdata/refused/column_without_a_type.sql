SELECT * FROM :rows AS r (a text, b)
