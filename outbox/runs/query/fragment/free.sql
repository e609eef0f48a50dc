-- True if no worker holds the run. Leases last for seconds. A lease that ends after more than an
-- hour was set by a clock that has since been set back.
(leased_until < now() OR leased_until > now() + interval '1 hour')
