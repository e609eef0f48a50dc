package backfill

import (
	"net/http"
	"time"

	"pgregory.net/rapid"

	"github.com/hooklatch/hooklatch/internal/fault"
)

// fate is what happens to an event.
type fate struct {
	After    time.Duration // time since the previous event
	Foreign  bool          // true for a type without a subscription
	Webhooks int           // number of webhook deliveries
	Late     bool          // true if the webhooks arrive at some later time
	Hidden   bool          // true if the list shows the event at some later time
	Claimed  bool          // true if the provider says that it delivered the event
	Refusal  int           // status of the response to a redelivery request; 202: accepted and forgotten, 0: the redelivery arrives
}

func drawFate(t *rapid.T) fate {
	f := fate{
		After:   rapid.SampledFrom([]time.Duration{0, time.Millisecond, time.Millisecond, time.Second, time.Minute}).Draw(t, "after"),
		Foreign: rapid.IntRange(0, 9).Draw(t, "foreign") == 9,
		Hidden:  rapid.IntRange(0, 5).Draw(t, "hidden") == 5,
		Refusal: rapid.SampledFrom([]int{0, 0, 0, http.StatusAccepted, http.StatusUnprocessableEntity}).Draw(t, "refusal"),
	}
	if !f.Foreign {
		f.Webhooks = rapid.SampledFrom([]int{0, 0, 1, 1, 2}).Draw(t, "webhooks")
	}
	f.Late = f.Webhooks > 0 && rapid.IntRange(0, 2).Draw(t, "late") == 2
	f.Claimed = f.Webhooks == 0 && rapid.IntRange(0, 3).Draw(t, "claimed") == 3
	return f
}

// trouble is what happens to a pass's request.
type trouble struct {
	At   int // the request's number in its round, from 0
	What string
	Mode fault.Mode // how COMMITs break
	Skip int        // number of COMMITs that succeed before the fault
	N    int        // number of COMMITs that break; for "refuse", see strike
	New  []fate     // events that happen
}

func drawTrouble(t *rapid.T) trouble {
	return trouble{
		At:   rapid.IntRange(0, 10).Draw(t, "at"),
		What: rapid.SampledFrom([]string{"cancel", "take over", "500", "webhooks", "list", "happen", "commit", "commit", "refuse"}).Draw(t, "what"),
		Mode: rapid.SampledFrom([]fault.Mode{fault.LoseAnswer, fault.LoseAnswer, fault.LoseRequest, fault.Terminate}).Draw(t, "mode"),
		Skip: rapid.IntRange(0, 4).Draw(t, "skip"),
		N:    rapid.IntRange(1, 3).Draw(t, "n"),
		New:  rapid.SliceOfN(rapid.Custom(drawFate), 0, 5).Draw(t, "new"),
	}
}
