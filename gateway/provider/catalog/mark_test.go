package catalog

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
)

// A byte order mark before a body is signed and stored with the rest of the body, but it is
// not parsed: the event is the same.
func TestByteOrderMarkIsNotRead(t *testing.T) {
	t.Parallel()
	const mark = "\ufeff"
	everyProvider(t, func(t *testing.T, p *provider.Provider, _ *provider.Request) {
		of := deliveriesOf(t, p.Name).samples
		for _, kind := range append([]string{""}, of.Types...) {
			r := p.Sample(kind, "evt_1", prooftest.Now())
			r.URL = prooftest.URL("")
			require.NoError(t, p.Sign(r, keyOf(t, p), prooftest.Now()))
			want := eventOf(t, p, r)

			r.Body = append([]byte(mark), r.Body...)
			if !of.InBody {
				require.NoError(t, p.Sign(r, keyOf(t, p), prooftest.Now()))
			}
			require.True(t, strings.HasPrefix(string(r.Body), mark), "the body is unchanged")
			got := eventOf(t, p, r)
			if of.Fresh {
				got.ID, want.ID = "", ""
			}
			require.Equal(t, want, got, kind)
			if p.TestEvent != nil {
				require.NotPanics(t, func() { p.TestEvent(r) })
			}
		}
	})
}
