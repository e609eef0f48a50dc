-- The time at which the events of this transaction arrive. A plan needs it before they are stored.
SELECT now() AS came_at
