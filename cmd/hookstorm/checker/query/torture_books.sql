-- The rows that sql effects wrote.
SELECT row_to_json(r)::text
FROM (
    SELECT event_id, account, at
    FROM torture.books
) AS r
