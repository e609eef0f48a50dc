package witness_test

import (
	"bytes"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/sweep/witness"
)

func TestOperationsOfAnotherProcessBecomePartOfTheHistory(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	w := history.NewWriter(&lines)
	desk := httptest.NewServer(witness.NewDesk(w))
	defer desk.Close()
	order := history.Record{Who: "actor", Op: history.OpOrder, Order: &history.Order{Action: "pause", Destination: "app"}}

	done := false
	require.NoError(t, witness.New(desk.URL).Watch(t.Context(), order, func() (history.Kind, string) {
		done = true
		return history.Fail, "refused"
	}))
	require.True(t, done)
	require.NoError(t, w.Flush())
	var kinds []history.Kind
	for r, err := range history.Read(&lines) {
		require.NoError(t, err)
		require.Equal(t, "pause", r.Order.Action)
		require.EqualValues(t, 1, r.ID)
		kinds = append(kinds, r.Kind)
	}
	require.Equal(t, []history.Kind{history.Invoke, history.Fail}, kinds)

	desk.Close()
	require.Error(t, witness.New(desk.URL).Watch(t.Context(), order, func() (history.Kind, string) {
		t.Error("it was done without a witness")
		return history.OK, ""
	}))
}
