-- True if a Series shows the count c.
(c.what IN ('accepted', 'duplicate', 'refused', 'attempts', 'done', 'waiting', 'summed') OR c.what LIKE 'refused:%' OR c.what LIKE 'first\_took:%')
