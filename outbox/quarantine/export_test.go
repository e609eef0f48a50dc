package quarantine

import "time"

// Allow sets the time within which a Keeper must complete a turn.
func (k *Keeper) Allow(d time.Duration) { k.timeout = d }
