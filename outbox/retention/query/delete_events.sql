-- A slice of the events behind a cursor, of all sources, in the order they came: those
-- of the members go when their time is over and nothing needs them.
WITH looked AS MATERIALIZED (
    {{events_behind}}
), {{judged_events}}
