DELETE FROM hooklatch.collector AS c
WHERE c.holder = :holder
