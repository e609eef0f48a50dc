-- True if an event's plan is left to one of the processes in newer. That process must have the
-- event's source, and handlers for it if the event waits for handlers. A gateway with the same
-- routes does not count, since workers with its configuration would create the same plan.
EXISTS (
    SELECT
    FROM newer
    WHERE newer.configuration > planned.configuration
        AND (newer.dispatches OR newer.routes <> planned.routes)
        AND ARRAY[planned.source, '*'] && CASE WHEN planned.for_handlers THEN newer.handler_sources ELSE newer.sources END
)
