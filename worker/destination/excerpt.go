package destination

import (
	"encoding/base64"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxExcerpt = 2 << 10 // bytes of an answer that are kept
	maxErrText = 300     // bytes of an error

	// minRedacted is the length below which a secret is not looked for: it
	// would be found everywhere.
	minRedacted = 4
	redacted    = "<secret>"
)

// redactor takes the secrets of a destination out of what a receiver answers:
// some echo the headers of the request (I12).
type redactor struct {
	secrets  []string
	replacer *strings.Replacer
}

// newRedactor knows the secrets also as JSON, a URL or Base64 may show them.
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

// excerpt makes an answer safe to keep and to show. CutOff says that the
// answer went on: it may then end within a secret.
func (r *redactor) excerpt(body []byte, cutOff bool) string {
	// Printable first: a control character must not keep a secret from being found.
	text := r.replacer.Replace(printable(string(body)))
	if cutOff {
		text = r.cutTail(text)
	}
	return shorten(text, maxExcerpt)
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
func oneLine(text string) string { return clean(text, maxErrText) }

// clean returns at most limit bytes of text, printable.
func clean(text string, limit int) string { return shorten(printable(text), limit) }

// printable returns text as valid UTF-8 on one line, without control
// characters and without those that reorder what is shown.
func printable(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r // A byte that is not UTF-8 comes as U+FFFD.
	}, text))
}

// shorten cuts valid UTF-8 between two characters.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
