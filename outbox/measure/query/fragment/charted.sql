-- The name of the count c in a Series, which does not distinguish the reasons for refusals.
CASE WHEN c.what LIKE 'refused:%' THEN 'refused' ELSE c.what END
