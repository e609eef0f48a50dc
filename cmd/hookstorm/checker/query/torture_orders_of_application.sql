-- What the application wrote together with its enqueues.
SELECT row_to_json(r)::text
FROM (
    SELECT key, at
    FROM torture.orders_of_application
) AS r
