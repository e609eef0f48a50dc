-- The counts of all names in each period, by kind and what. Each minute is first summed over the
-- names, because there are many names and few values of what.
SELECT line.place, kind.kind, {{charted}} AS what, sum(c.n)::bigint
FROM ({{minutes_charted}}) AS line
CROSS JOIN unnest(:kinds::text[]) AS kind (kind)
CROSS JOIN LATERAL (
    SELECT m.what, sum(m.n) AS n
    FROM hooklatch.minutes AS m
    WHERE m.minute = line.minute
        AND m.kind = kind.kind
    GROUP BY m.what
    OFFSET 0
) AS c
WHERE {{is_charted}}
GROUP BY 1, 2, 3
