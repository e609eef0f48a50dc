-- Whether the plan of an event is left to one of the processes in newer, which has the
-- event's source too, and handlers of it where the event waits for handlers. A gateway
-- with the same routes would have the event planned alike.
EXISTS (
    SELECT
    FROM newer
    WHERE newer.configuration > planned.configuration
        AND (newer.dispatches OR newer.routes <> planned.routes)
        AND ARRAY[planned.source, '*'] && CASE WHEN planned.for_handlers THEN newer.handler_sources ELSE newer.sources END
)
