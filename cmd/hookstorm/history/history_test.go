package history_test

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
)

func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	var watched []history.Record
	w := history.NewWriter(&file, func(r history.Record) { watched = append(watched, r) })
	op := w.Begin(history.Record{Who: "sender-1", Op: history.OpDeliver, Delivery: &history.Delivery{Source: "stripe", EventIDs: []string{"evt_1"}}})
	w.Add(history.Record{Who: "nemesis", Kind: history.Note, Op: history.OpPhase, Phase: history.PhaseHeal})
	op.End(history.OK, "", func(r *history.Record) {
		answered := *r.Delivery
		answered.Status = 200
		r.Delivery = &answered
	})
	op.End(history.Unknown, "a second end is none", nil)
	require.NoError(t, w.Flush())

	var read []history.Record
	for record, err := range history.Read(&file) {
		require.NoError(t, err)
		read = append(read, record)
	}
	require.Equal(t, watched, read)
	require.Len(t, read, 3)
	require.Equal(t, read[0].ID, read[2].ID)
	require.Zero(t, read[0].Delivery.Status, "the record of the beginning does not contain the response")
	require.Equal(t, 200, read[2].Delivery.Status)
}

func TestLinesAreInTheOrderOfTheirTimes(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	w := history.NewWriter(&file)
	var writing sync.WaitGroup
	for range 8 {
		writing.Go(func() {
			for range 200 {
				w.Begin(history.Record{Op: history.OpCall}).End(history.OK, "", nil)
			}
		})
	}
	writing.Wait()
	require.NoError(t, w.Flush())
	last, n := int64(0), 0
	for record, err := range history.Read(&file) {
		require.NoError(t, err)
		require.GreaterOrEqual(t, record.At, last)
		last = record.At
		n++
	}
	require.Equal(t, 8*200*2, n)
}

func TestTornHistoryNamesItsLine(t *testing.T) {
	t.Parallel()
	whole := `{"t":1,"who":"a","kind":"note","op":"phase"}` + "\n"
	var last error
	for _, err := range history.Read(strings.NewReader(whole + whole[:20])) {
		last = err
	}
	require.ErrorContains(t, last, "line 2")
}

var errFull = errors.New("disk is full")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestHistoryThatWasNotWrittenIsAnError(t *testing.T) {
	t.Parallel()
	w := history.NewWriter(fullDisk{})
	w.Add(history.Record{Kind: history.Note, Op: history.OpPhase})
	require.ErrorIs(t, w.Flush(), errFull)
	require.ErrorIs(t, w.Flush(), errFull, "the error is permanent")
}
