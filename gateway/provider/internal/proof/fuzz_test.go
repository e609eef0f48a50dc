package proof

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
)

// FuzzPairs checks that every value that is read from a signature header is in that header.
func FuzzPairs(f *testing.F) {
	f.Add("t=1,v1=ab,v1=cd,v0=ef")
	f.Add("v1,AAAA v1a,BBBB")
	f.Add("t=1;h1=00;h1")
	shapes := []*Pairs{
		{Separator: ",", Assign: "=", Signature: "v1", Timestamp: "t"},
		{Separator: " ", Assign: ",", Signature: "v1"},
		{Separator: ";", Assign: "=", Signature: "h1", Timestamp: "ts"},
	}
	f.Fuzz(func(t *testing.T, header string) {
		for _, p := range shapes {
			signatures, timestamp, err := p.read(header)
			if err != nil {
				require.IsType(t, &provider.VerifyError{}, err)
				continue
			}
			require.NotEmpty(t, signatures)
			for _, s := range signatures {
				require.Contains(t, header, p.Signature+p.Assign+s)
			}
			require.Contains(t, header, timestamp)
		}
	})
}

// FuzzEncoding checks that two strings that differ in one bit never decode to the same bytes,
// except for hex strings that differ in case.
func FuzzEncoding(f *testing.F) {
	f.Add("00ff", uint16(3))
	f.Add("AA==", uint16(9))
	f.Add("-_8", uint16(0))
	f.Fuzz(func(t *testing.T, s string, bit uint16) {
		if s == "" {
			return
		}
		other := prooftest.Flip(s, int(bit)%(len(s)*8))
		for _, e := range []Encoding{Hex, Base64, Base64URL} {
			a, err := e.Decode(s)
			if err != nil || len(a) == 0 {
				continue
			}
			b, err := e.Decode(other)
			if err != nil || e == Hex && strings.EqualFold(s, other) {
				continue // hex with a single letter may be in either case
			}
			require.NotEqual(t, a, b, "%s and %s", s, other)
		}
	})
}

func FuzzTemplate(f *testing.F) {
	f.Add("{ts}.{body}")
	f.Add("v0:{ts}:{body}{url}{method}{id}}")
	f.Fuzz(func(t *testing.T, s string) {
		parts, ok := ParseTemplate(s)
		if ok {
			require.Equal(t, s, strings.Join(parts, ""))
			parts.after(InID)
		}
	})
}

// FuzzDigest checks that JSON keeps its digest when it is encoded again.
func FuzzDigest(f *testing.F) {
	f.Add(`{"a":[1,{"b":"\u0000\ud800\\"}],"c":1e400, "a" : ""}`)
	f.Add(` [ ] `)
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			return
		}
		compact, err := json.Marshal(json.RawMessage(text))
		require.NoError(t, err)
		if utf8.ValidString(text) {
			require.Equal(t, digestOf(text), digestOf(string(compact)))
		}
		root := gjson.Parse(text)
		Lookup(root, "/a/0")
		Scalar(Lookup(root, "/a"))
	})
}
