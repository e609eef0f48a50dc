-- Returns the numbers of the deliveries whose body may contain a text. The body contains the text
-- unchanged, is JSON that escapes letters, or is a form, which may encode the text. The result
-- includes deliveries that are not in the table deliveries, because their bodies are unknown.
SELECT a.number
FROM :asked AS a (number integer, delivery_id uuid, received_at timestamptz)
LEFT JOIN LATERAL (
    SELECT d.body, d.content_type
    FROM hooklatch.deliveries AS d
    WHERE d.delivery_id = a.delivery_id
        AND d.received_at = a.received_at
    LIMIT 1
) AS d ON true
WHERE d.body IS NULL
    OR position(:text::bytea IN d.body) > 0
    OR position('\x5c753030'::bytea IN d.body) > 0 -- \u00
    OR d.content_type ILIKE '%form-urlencoded%'
