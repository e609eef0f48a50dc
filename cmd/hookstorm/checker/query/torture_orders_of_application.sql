-- The rows that the application wrote in its enqueueing transactions.
SELECT row_to_json(r)::text
FROM (
    SELECT key, at
    FROM torture.orders_of_application
) AS r
