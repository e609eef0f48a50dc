package sender

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
)

const adyenTestKey = "DFB1EB5485895CFA84146406857104ABB4CBCABDC8AAF103A624C8F6A3EAAB00"

// TestAdyenSignedFields flips bits in a signed payment. Most of a body is not signed; every
// accepted variant is still the same event.
func TestAdyenSignedFields(t *testing.T) {
	t.Parallel()
	p := declared(t, Adyen, provider.Options{})
	r := signed(t, p, adyenTestKey, "", "evt_1")
	body, event := string(r.Body), theEvent(t, p, r)
	proven := 0
	for bit := range len(body) * 8 {
		r.Body = []byte(prooftest.Flip(body, bit))
		if verify(t, p, adyenTestKey, r) != nil {
			continue
		}
		proven++
		events, err := p.Events(r)
		if err != nil {
			require.IsType(t, &provider.EventError{}, err)
			continue
		}
		require.Len(t, events, 1)
		require.Equal(t, event.ID, events[0].ID, "%s", r.Body)
		require.Equal(t, event.Type, events[0].Type, "%s", r.Body)
	}
	require.Positive(t, proven)
}

// FuzzAdyenItem checks that no two items have the same signed text but different keys.
func FuzzAdyenItem(f *testing.F) {
	f.Add([]byte(`{"pspReference":"a","merchantAccountCode":"b","merchantReference":"c:d","eventCode":"e","success":"true"}`),
		[]byte(`{"pspReference":"a","merchantAccountCode":"b:c","merchantReference":"d","eventCode":"e","success":true}`))
	f.Add([]byte(`{"pspReference":"a:","eventCode":"e"}`), []byte(`{"pspReference":"a","eventCode":"e","amount":{"value":1.5}}`))
	f.Add([]byte(`{"pspReference":"a","merchantAccountCode":"b","eventCode":"e","success":"false"}`),
		[]byte(`{"pspReference":"a","merchantAccountCode":"b","eventCode":"e","success":false}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		read := func(fields []byte) (text []byte, id string) {
			item := append(append([]byte(`{"NotificationRequestItem":`), fields...), '}')
			root, err := proof.ParseJSON(item)
			if err != nil {
				return nil, ""
			}
			if text, err = adyenText(root); err != nil {
				require.IsType(t, &provider.VerifyError{}, err)
				return nil, ""
			}
			if id, err = adyenKey(&proof.Document{R: &provider.Request{Body: item}}); err != nil {
				require.IsType(t, &provider.EventError{}, err)
				return nil, ""
			}
			return text, id
		}
		textA, idA := read(a)
		textB, idB := read(b)
		if textA != nil && bytes.Equal(textA, textB) {
			require.Equal(t, idA, idB)
		}
	})
}
