-- Whether the event p may be replayed as asked: one route alone only where its dispatch
-- did not fail, which left all of them without their effects.
(p.outcome <> 'failed' OR :route = '')
