package sender

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
)

// TestNumberedHeaders covers the headers that DocuSign sends: one signature for each key.
func TestNumberedHeaders(t *testing.T) {
	t.Parallel()
	p := declared(t, HMAC, provider.Options{Header: "X-DocuSign-Signature-{n}", Encoding: "base64", EventID: provider.EventID{Pointer: "/id"}})
	r := signed(t, p, prooftest.Secret, "", "evt_1")
	require.NoError(t, verify(t, p, prooftest.Secret, r))
	first := r.Header.Get("X-DocuSign-Signature-1")
	require.NotEmpty(t, first)
	r.Header.Set("X-DocuSign-Signature-1", "AAAA")
	requireRefusal(t, provider.ReasonWrongSignature, verify(t, p, prooftest.Secret, r))
	r.Header.Set("X-DocuSign-Signature-3", first)
	requireRefusal(t, provider.ReasonWrongSignature, verify(t, p, prooftest.Secret, r)) // the numbers have a gap
	r.Header.Set("X-DocuSign-Signature-2", "AAAA")
	require.NoError(t, verify(t, p, prooftest.Secret, r))
	r.Header.Add("X-DocuSign-Signature-2", first)
	requireRefusal(t, provider.ReasonDuplicateHeader, verify(t, p, prooftest.Secret, r))
	r.Header.Del("X-DocuSign-Signature-1")
	requireRefusal(t, provider.ReasonMissingSignature, verify(t, p, prooftest.Secret, r))
}
