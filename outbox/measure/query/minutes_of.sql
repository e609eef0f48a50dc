-- The counts of one name in each period, by kind. Each minute and kind is one look-up, so that the
-- cost does not depend on the number of other names. The sums over all names have an empty name and
-- include only charted counts.
SELECT line.place, kind.kind, {{charted}} AS what, sum(c.n)::bigint
FROM ({{minutes_charted}}) AS line
CROSS JOIN unnest(:kinds::text[]) AS kind (kind)
CROSS JOIN LATERAL (
    SELECT c.what, c.n
    FROM hooklatch.minutes AS c
    WHERE c.minute = line.minute
        AND c.kind = kind.kind
        AND c.name = :name
        AND (:name = '' OR {{is_charted}})
    OFFSET 0
) AS c
GROUP BY 1, 2, 3
