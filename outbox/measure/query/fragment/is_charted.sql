-- True if the count c belongs to the numbers over time.
(c.what IN ('accepted', 'duplicate', 'refused', 'attempts', 'done', 'waiting', 'summed') OR c.what LIKE 'refused:%' OR c.what LIKE 'first\_took:%')
