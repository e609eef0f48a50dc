-- Deletes rows that exceed the caps of each half of a source, starting with the deliveries of the
-- lowest rank. For the cap of rows, each address keeps its newest delivery before any address keeps
-- two. For the cap of bytes, a delivery ranks by the total bytes of its address's deliveries from
-- the newest one up to itself. Returns how many rows and bytes each half still has.
WITH mine AS (
    SELECT r.rejection_id, r.source, r.known, r.rejected_at, r.bytes,
        row_number() OVER newest_first AS place,
        sum(r.bytes) OVER newest_first AS up_to_here
    FROM hooklatch.rejected_deliveries AS r
    WHERE r.source = ANY (:sources::text[])
    WINDOW newest_first AS (PARTITION BY r.source, r.known, r.address ORDER BY r.rejected_at DESC, r.rejection_id DESC)
), shared AS (
    SELECT m.rejection_id, m.source, m.known, m.bytes,
        row_number() OVER (PARTITION BY m.source, m.known ORDER BY m.place, m.rejected_at DESC, m.rejection_id DESC) AS row,
        sum(m.bytes) OVER (PARTITION BY m.source, m.known ORDER BY m.up_to_here, m.rejected_at DESC, m.rejection_id DESC) AS total
    FROM mine AS m
), trimmed AS (
    DELETE FROM hooklatch.rejected_deliveries AS r
    USING shared AS s
    WHERE r.rejection_id = s.rejection_id
        AND (s.row > :rows OR s.total > :bytes)
)
SELECT s.source, s.known, count(*) AS rows, sum(s.bytes) AS bytes
FROM shared AS s
WHERE s.row <= :rows
    AND s.total <= :bytes
GROUP BY s.source, s.known
