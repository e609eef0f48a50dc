package destination

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/hooklatch/hooklatch/internal/safetext"
)

const (
	maxExcerpt = 2 << 10 // maximum number of bytes of a response that are stored
	maxErrText = 300     // maximum number of bytes of an error that are stored

	// minRedacted is the minimum length of a secret to search for: a shorter secret would match
	// everywhere.
	minRedacted = 4
	redacted    = "<secret>"
)

// redactor removes a destination's secrets from responses: some receivers echo the request headers
// (I12).
type redactor struct {
	secrets  []string
	replacer *strings.Replacer
}

// newRedactor returns a redactor that also finds the secrets in the encodings of JSON, URLs and
// Base64.
func newRedactor(secrets ...string) *redactor {
	r := &redactor{}
	var pairs []string
	for _, s := range secrets {
		if len(s) < minRedacted {
			continue
		}
		for _, form := range forms(s) {
			r.secrets = append(r.secrets, form)
			pairs = append(pairs, form, redacted)
		}
	}
	r.replacer = strings.NewReplacer(pairs...)
	return r
}

// forms returns a secret unchanged, and in the encodings of JSON, URLs and Base64. JSON libraries
// differ in the characters that they escape.
func forms(s string) []string {
	all := []string{
		s,
		strings.ReplaceAll(s, "/", `\/`),
		strings.ReplaceAll(s, `"`, `\"`),
		url.QueryEscape(s),
		url.PathEscape(s),
		base64.StdEncoding.EncodeToString([]byte(s)),
		base64.RawStdEncoding.EncodeToString([]byte(s)),
		base64.URLEncoding.EncodeToString([]byte(s)),
		base64.RawURLEncoding.EncodeToString([]byte(s)),
	}
	plain := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s)
	html := strings.NewReplacer("&", `\u0026`, "<", `\u003c`, ">", `\u003e`).Replace(plain)
	upper := strings.NewReplacer("&", `\u0026`, "<", `\u003C`, ">", `\u003E`, "'", `\u0027`, "+", `\u002B`).Replace(plain)
	for _, escaped := range []string{plain, html, upper, strings.ReplaceAll(upper, `\"`, `\u0022`)} {
		for _, text := range []string{escaped, onlyASCII(escaped, `\u%04x`), onlyASCII(escaped, `\u%04X`)} {
			all = append(all, text, strings.ReplaceAll(text, "/", `\/`))
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(all)
}

// onlyASCII escapes the non-ASCII characters of a JSON string. It writes each of their UTF-16 units
// in the given format.
func onlyASCII(text, format string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(text)) {
		if unit < utf8.RuneSelf {
			b.WriteByte(byte(unit))
		} else {
			fmt.Fprintf(&b, format, unit)
		}
	}
	return b.String()
}

// excerpt returns a response in a form that is safe to store and show. If cutOff is true, body is
// only the beginning of a response, and may end within a secret.
func (r *redactor) excerpt(body []byte, cutOff bool) string {
	// Printable is called first: a control character must not hide a secret from the search.
	text := r.replacer.Replace(safetext.Printable(string(body)))
	if cutOff {
		text = r.cutTail(text)
	}
	return safetext.Cut(text, maxExcerpt)
}

// cutTail replaces the beginning of a secret at the end of text.
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

// oneLine makes an error text safe to log.
func oneLine(text string) string { return safetext.Line(text, maxErrText) }
