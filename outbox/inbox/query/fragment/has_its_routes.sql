-- True if the event p may be replayed as requested. A single route is allowed only if the event's
-- dispatch did not fail, because a failed dispatch left all routes without effects.
(p.outcome <> 'failed' OR :route = '')
