package nemesis

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
)

var errNoDisk = errors.New("there is no disk")

// harmless returns a fault that lasts a second and does nothing.
func harmless(kind string, lane Lane) Fault {
	return Fault{Kind: kind, Lane: lane, Fire: func(ctx context.Context, _ *rand.Rand, struck func(string, string)) error {
		struck("", "")
		sleep(ctx, time.Second)
		return nil
	}}
}

// deal runs faults for d. It returns their records in the history, and the error of Stop.
func deal(t *testing.T, d time.Duration, seed uint64, faults ...Fault) ([]history.Record, error) {
	t.Helper()
	var file bytes.Buffer
	var failed error
	synctest.Test(t, func(t *testing.T) {
		w := history.NewWriter(&file)
		n := New(Options{History: w, Faults: faults, Seed: seed, Load: func() (int, int) { return 3, 70 }})
		n.Start(t.Context())
		time.Sleep(d) //nolint:forbidigo // synctest's clock
		failed = n.Stop()
		require.Equal(t, failed, n.Stop())
		require.NoError(t, w.Flush())
	})
	var records []history.Record
	for record, err := range history.Read(&file) {
		require.NoError(t, err)
		records = append(records, record)
	}
	return records, failed
}

func TestEveryKindStrikesBeforeAnyDoesAgain(t *testing.T) {
	t.Parallel()
	kinds := strings.Fields("a b c d e")
	var faults []Fault
	for _, kind := range kinds {
		faults = append(faults, harmless(kind, Server))
	}
	records, err := deal(t, 2*time.Minute, 1, faults...)
	require.NoError(t, err)
	var struck []string
	for _, r := range records {
		if r.Kind == history.Invoke {
			require.Equal(t, 3, r.Fault.InFlight)
			require.Equal(t, 70, r.Fault.AckedLast)
			struck = append(struck, r.Fault.Kind)
		}
	}
	require.Greater(t, len(struck), 20)
	for i := 0; i+len(kinds) <= len(struck); i += len(kinds) {
		require.ElementsMatch(t, kinds, struck[i:i+len(kinds)])
	}
}

func TestAFaultThatMissesIsDealtTwiceTheNextTime(t *testing.T) {
	t.Parallel()
	clumsy := Fault{Kind: "clumsy", Lane: Server, Fire: func(context.Context, *rand.Rand, func(string, string)) error { return nil }}
	records, err := deal(t, 10*time.Minute, 1, harmless("a", Server), harmless("b", Server), clumsy)
	require.NoError(t, err)
	dealt := map[string]int{}
	for _, r := range records {
		if r.Kind == history.Invoke || r.Kind == history.Fail {
			dealt[r.Fault.Kind]++
		}
	}
	require.Greater(t, dealt["a"], 20)
	require.InDelta(t, dealt["a"], dealt["b"], 1)
	require.InDelta(t, 2*dealt["a"], dealt["clumsy"], 3)
}

func TestFaultsOfDifferentLanesMeet(t *testing.T) {
	t.Parallel()
	records, err := deal(t, 5*time.Minute, 1, harmless("a", Server), harmless("b", Network))
	require.NoError(t, err)
	open, met := 0, 0
	for _, r := range records {
		switch r.Kind { //nolint:exhaustive // this history has no others
		case history.Invoke:
			open++
		case history.OK:
			open--
		}
		if open == 2 {
			met++
		}
	}
	require.Positive(t, met)
	require.Zero(t, open, "all faults have healed when Stop returns")
}

func TestSeedRepeatsTheOrder(t *testing.T) {
	t.Parallel()
	order := func(seed uint64) (kinds []string) {
		records, err := deal(t, 2*time.Minute, seed, harmless("a", Server), harmless("b", Server), harmless("c", Server), harmless("d", Server))
		require.NoError(t, err)
		for _, r := range records {
			if r.Kind == history.Invoke {
				kinds = append(kinds, r.Fault.Kind)
			}
		}
		return kinds
	}
	require.Equal(t, order(1), order(1))
	require.NotEqual(t, order(1), order(2))
}

func TestFaultThatCannotBeMadeIsSaid(t *testing.T) {
	t.Parallel()
	records, err := deal(t, 5*time.Second, 1, Fault{Kind: "disk", Lane: Server, Fire: func(context.Context, *rand.Rand, func(string, string)) error { return errNoDisk }})
	require.ErrorIs(t, err, errNoDisk)
	require.Equal(t, history.Fail, records[0].Kind)
	require.Equal(t, "disk", records[0].Fault.Kind)
}

func TestFaultWaitsForADelivery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		inFlight := 0
		var struckAt time.Time
		started := time.Now()
		n := New(Options{History: history.NewWriter(&bytes.Buffer{}), Pause: 100 * time.Millisecond,
			Load: func() (int, int) { mu.Lock(); defer mu.Unlock(); return inFlight, 0 },
			Faults: []Fault{{Kind: "a", Lane: Server, Fire: func(ctx context.Context, _ *rand.Rand, struck func(string, string)) error {
				struckAt = time.Now()
				struck("", "")
				<-ctx.Done()
				return nil
			}}}})
		n.Start(t.Context())
		time.Sleep(time.Second) //nolint:forbidigo // synctest's clock
		mu.Lock()
		inFlight = 1
		mu.Unlock()
		time.Sleep(time.Second) //nolint:forbidigo // synctest's clock
		require.NoError(t, n.Stop())
		require.InDelta(t, time.Second.Seconds(), struckAt.Sub(started).Seconds(), 0.01)
	})
}
