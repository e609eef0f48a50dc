package proof

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

// EndpointOptions are the options that SetEndpoint reads.
var EndpointOptions = []string{"answer", "probe"}

// SetEndpoint gives a provider the answer and the probe that the options configure.
func SetEndpoint(p *provider.Provider, o provider.Options) error {
	if o.Answer != nil {
		answer, err := ownAnswer(*o.Answer)
		if err != nil {
			return err
		}
		p.Answer = func(*provider.Request) *provider.Answer { return answer }
		p.Bare = o.Answer.Body == ""
	}
	if o.Probe != nil {
		return setProbe(p, *o.Probe)
	}
	return nil
}

// maxOwnAnswer is the maximum length of a configured response body, in bytes.
const maxOwnAnswer = 4 << 10

// ownAnswer returns the configured response. It refuses a status outside 2xx, which would tell the
// sender that a committed delivery was refused.
func ownAnswer(o provider.AnswerOptions) (*provider.Answer, error) {
	status := cmp.Or(o.Status, http.StatusOK)
	switch {
	case status < 200 || status > 299:
		return nil, &provider.OptionError{Field: "answer.status", Value: strconv.Itoa(status), Allowed: "must be 200 to 299: the delivery is already committed"}
	case o.Body != "" && (status == http.StatusNoContent || status == http.StatusResetContent):
		return nil, &provider.OptionError{Field: "answer.body", Value: o.Body, Allowed: "must be empty with status " + strconv.Itoa(status)}
	case len(o.Body) > maxOwnAnswer:
		return nil, &provider.OptionError{Field: "answer.body", Value: strconv.Itoa(len(o.Body)) + " bytes", Allowed: "at most " + strconv.Itoa(maxOwnAnswer) + " bytes"}
	}
	answer := &provider.Answer{Status: status, ContentType: textType, Header: http.Header{}, Body: []byte(o.Body)}
	for _, given := range slices.Sorted(maps.Keys(o.Headers)) {
		field, value := "answer.headers."+given, o.Headers[given]
		if err := ValidateHeader(field, given); err != nil {
			return nil, err
		}
		name := http.CanonicalHeaderKey(given)
		switch {
		case slices.Contains(reservedHeaders(), name):
			return nil, &provider.OptionError{Field: field, Value: value, Allowed: "must not be a header that Hooklatch or HTTP sets: " + strings.Join(reservedHeaders(), ", ")}
		case !printable(value):
			return nil, &provider.OptionError{Field: field, Value: value, Allowed: "must be printable ASCII of at most " + strconv.Itoa(maxEchoedHeader) + " bytes"}
		case answer.Header[name] != nil:
			return nil, &provider.OptionError{Field: field, Value: given, Allowed: "must be given only once"}
		}
		answer.Header[name] = []string{value}
	}
	if kind := answer.Header.Get("Content-Type"); kind != "" {
		answer.ContentType = kind
		answer.Header.Del("Content-Type")
	}
	return answer, nil
}

const textType = "text/plain; charset=utf-8"

// reservedHeaders returns the headers that frame a response and the headers that Hooklatch
// sets in every response, in canonical form.
func reservedHeaders() []string {
	return []string{
		"Connection", "Content-Encoding", "Content-Length", "Date", "Hooklatch-Status", "Keep-Alive", "Trailer", "Transfer-Encoding",
		"Upgrade", "X-Content-Type-Options",
	}
}

// maxEchoedHeader is the maximum length of a response header's value, in bytes.
const maxEchoedHeader = 1024

// printable reports whether a string can be a response header's value: it is not empty, not longer
// than maxEchoedHeader, and consists of printable ASCII without spaces around it.
func printable(text string) bool {
	return text != "" && len(text) <= maxEchoedHeader && strings.TrimSpace(text) == text &&
		!strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' })
}
