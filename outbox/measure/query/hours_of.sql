-- The counts of one name in each of the last hours, by kind: one look-up for each hour and kind.
SELECT line.place, kind.kind, {{charted}} AS what, sum(c.n)::bigint
FROM ({{hours_charted}}) AS line
CROSS JOIN unnest(:kinds::text[]) AS kind (kind)
CROSS JOIN LATERAL (
    SELECT c.what, c.n
    FROM hooklatch.hours AS c
    WHERE c.hour = line.hour
        AND c.kind = kind.kind
        AND c.name = :name
        AND {{is_charted}}
    OFFSET 0
) AS c
GROUP BY 1, 2, 3
