SELECT * FROM :rows AS r (a double precision)
