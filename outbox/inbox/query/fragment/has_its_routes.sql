-- Whether the event p may be replayed as requested: by a single route only if its dispatch did
-- not fail, because a failed dispatch left all routes without effects.
(p.outcome <> 'failed' OR :route = '')
