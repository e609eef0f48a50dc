package catalog

import (
	"net/http"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// headersIn lists the headers that the options name, in canonical form. A numbered header becomes a
// pattern, such as X-Sig-*.
func headersIn(o provider.Options) []string {
	header, numbered := strings.CutSuffix(o.Header, "-{n}")
	names := []string{header, o.TimestampHeader, o.IDHeader, o.Type.Header, o.EventID.Header}
	if numbered {
		names[0] += "-*"
	}
	for _, f := range proof.Places(slices.Concat(o.EventID.Join, o.EventID.Fields, o.EventID.Optional)) {
		names = append(names, f.Header)
	}
	for i, name := range names {
		names[i] = http.CanonicalHeaderKey(name)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	slices.Sort(names)
	return slices.Compact(names)
}
