-- Returns the receipt time of the events that this transaction stores. Their plans need this time
-- before the events are stored.
SELECT now() AS came_at
