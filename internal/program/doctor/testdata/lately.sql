-- Inserts counts of the last minutes and hours, in addition to the rows of waits.sql.
INSERT INTO hooklatch.minutes (minute, kind, name, what, n)
SELECT date_trunc('minute', now()) - interval '5 minutes', c.kind, c.name, c.what, c.n
FROM (
    VALUES
        ('destination', 'crm', 'first', 40), ('destination', 'crm', 'first_failed', 30),
        ('destination', 'mail', 'first', 60), ('destination', 'mail', 'first_failed', 1),
        ('source', 'stripe', 'refused:wrong_signature', 41), ('source', 'stripe', 'refused:old_timestamp', 2),
        ('source', '_unknown', 'refused:unknown_source', 9)
) AS c (kind, name, what, n);
INSERT INTO hooklatch.hours (hour, kind, name, what, n)
SELECT date_trunc('hour', now(), 'UTC') - c.hours * interval '1 hour', c.kind, c.name, c.what, c.n
FROM (
    VALUES
        (0, 'destination', 'crm', 'first', 40), (0, 'destination', 'crm', 'first_failed', 30), (1, 'destination', 'mail', 'first', 10),
        (1, 'destination', 'crm', 'first', 10), (1, 'destination', 'crm', 'first_failed', 5), (23, 'destination', 'crm', 'first', 10),
        (3, 'source', 'stripe', 'accepted', 30), (3, 'source', 'stripe', 'duplicate', 10), (4, 'source', 'stripe', 'accepted', 40)
) AS c (hours, kind, name, what, n);
