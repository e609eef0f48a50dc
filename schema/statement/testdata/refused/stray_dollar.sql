SELECT $a, $
