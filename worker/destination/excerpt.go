package destination

import (
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/hooklatch/hooklatch/internal/safetext"
)

const (
	maxExcerpt = 2 << 10 // bytes of an answer that are stored
	maxErrText = 300     // bytes of an error

	// minRedacted is the length below which a secret is not searched for: it would match
	// everywhere.
	minRedacted = 4
	redacted    = "<secret>"
)

// redactor removes the secrets of a destination from a receiver's answers: some receivers echo
// the headers of the request (I12).
type redactor struct {
	secrets  []string
	replacer *strings.Replacer
}

// newRedactor returns a redactor that also finds the secrets as written in JSON, a URL or
// Base64.
func newRedactor(secrets ...string) *redactor {
	r := &redactor{}
	var pairs []string
	for _, s := range secrets {
		if len(s) < minRedacted {
			continue
		}
		for _, form := range []string{
			s,
			strings.ReplaceAll(s, "/", `\/`),
			strings.ReplaceAll(s, `"`, `\"`),
			url.QueryEscape(s),
			url.PathEscape(s),
			base64.StdEncoding.EncodeToString([]byte(s)),
		} {
			r.secrets = append(r.secrets, form)
			pairs = append(pairs, form, redacted)
		}
	}
	r.replacer = strings.NewReplacer(pairs...)
	return r
}

// excerpt makes an answer safe to store and to show. If cutOff, body is only the beginning of
// an answer, which may end within a secret.
func (r *redactor) excerpt(body []byte, cutOff bool) string {
	// Printable comes first: a control character must not hide a secret from the search.
	text := r.replacer.Replace(safetext.Printable(string(body)))
	if cutOff {
		text = r.cutTail(text)
	}
	return safetext.Cut(text, maxExcerpt)
}

// cutTail removes the beginning of a secret at the end of text.
func (r *redactor) cutTail(text string) string {
	for _, s := range r.secrets {
		for n := min(len(s)-1, len(text)); n >= minRedacted; n-- {
			if strings.HasSuffix(text, s[:n]) {
				return text[:len(text)-n] + redacted
			}
		}
	}
	return text
}

// oneLine makes the text of an error safe to log.
func oneLine(text string) string { return safetext.Line(text, maxErrText) }
