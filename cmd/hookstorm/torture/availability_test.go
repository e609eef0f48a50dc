package torture

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
)

// The gap around a fault begins with the last delivery accepted before the fault. It ends with the
// first delivery accepted after the fault has healed.
func TestGapEndsWhenADeliveryIsAcceptedAgain(t *testing.T) {
	t.Parallel()
	var a availability
	fault := func(at time.Duration, id int64, kind history.Kind) {
		a.watch(history.Record{At: at.Microseconds(), ID: id, Kind: kind, Op: history.OpFault, Fault: &history.Fault{Kind: "switchover"}})
	}
	deliver := func(at time.Duration, result string) {
		a.watch(history.Record{At: at.Microseconds(), Kind: history.OK, Op: history.OpDeliver, Delivery: &history.Delivery{Result: result}})
	}
	deliver(1*time.Second, resultAccepted)
	fault(2*time.Second, 7, history.Invoke)
	deliver(3*time.Second, "duplicate")
	deliver(4*time.Second, resultAccepted)
	deliver(5*time.Second, resultAccepted)
	fault(6*time.Second, 7, history.OK)
	gaps, _ := a.all()
	require.Empty(t, gaps, "no delivery has been accepted since")
	deliver(10*time.Second, resultAccepted)
	deliver(60*time.Second, resultAccepted)
	gaps, _ = a.all()
	require.Equal(t, []Gap{{Fault: "switchover", For: 5 * time.Second}}, gaps)
	require.Regexp(t, `2 +2\.0s +5\.0s +5\.0s switchover`, gapTable(append(gaps, Gap{Fault: "switchover", For: 2 * time.Second})))
}

func TestProcessThatEndsByItselfIsCounted(t *testing.T) {
	t.Parallel()
	var a availability
	w := history.NewWriter(io.Discard, a.watch)
	for _, process := range []history.Process{{Name: "gateway-1", Started: true}, {Name: "gateway-1", Ordered: true}, {Name: "worker-1"}} {
		w.Add(history.Record{Kind: history.Note, Op: history.OpProcess, Process: &process})
	}
	_, crashes := a.all()
	require.Equal(t, []string{"worker-1"}, crashes)
}
