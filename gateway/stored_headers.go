package gateway

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// neverStored are the headers that may carry credentials of other parties:
// those of a proxy, of a browser, of the sender's own account.
var neverStored = []string{"Authorization", "Cookie", "Proxy-Authorization", "Set-Cookie"}

// storedHeaders are the headers of a delivery without any that is itself a
// secret, or that repeats one (I12): a proxy in front puts the URL it was called
// with, token and all, into headers of its own. Several values of one name stay
// several. Where all of them may be stored, they are header itself: nobody may change
// it any more.
func (s *source) storedHeaders(header http.Header) map[string][]string {
	if !s.hidesAny(header) {
		return header
	}
	stored := make(map[string][]string, len(header))
	for name, values := range header {
		if s.hides(name) {
			continue
		}
		if slices.ContainsFunc(values, s.repeatsSecret) {
			if values = slices.DeleteFunc(slices.Clone(values), s.repeatsSecret); len(values) == 0 {
				continue
			}
		}
		stored[name] = values
	}
	return stored
}

// hides reports whether no value of a header is stored.
func (s *source) hides(name string) bool {
	return slices.Contains(neverStored, name) || slices.Contains(s.secretHeaders, name)
}

// hidesAny reports whether a value of a header is not stored.
func (s *source) hidesAny(header http.Header) bool {
	for name, values := range header {
		if s.hides(name) || slices.ContainsFunc(values, s.repeatsSecret) {
			return true
		}
	}
	return false
}

// sentSecrets are the texts that requests of the source carry as their proof,
// and that nothing else may keep. Nil where requests carry a signature.
func (s Source) sentSecrets() []string {
	if len(s.Provider.SecretHeaders) == 0 && len(s.Provider.SecretQuery) == 0 {
		return nil
	}
	var texts []string
	for _, one := range s.Secrets {
		if text := one.Value.Reveal(); text != "" {
			texts = append(texts, spaced(text), spaced(base64.StdEncoding.EncodeToString([]byte(text))))
		}
	}
	return texts
}

// maxUnescaped is how often the value of a header is unescaped to look for a
// secret: a URL in the query of a URL is escaped twice.
const maxUnescaped = 3

// repeatsSecret reports whether a value of a header contains a secret of the
// source, also escaped as in a URL, or a parameter that carries one.
func (s *source) repeatsSecret(value string) bool { return s.repeatsAny(value, s.sent) }

func (s *source) repeatsAny(value string, secrets []string) bool {
	if secrets == nil {
		return false
	}
	for range maxUnescaped {
		for _, text := range secrets {
			if strings.Contains(spaced(value), text) {
				return true
			}
		}
		for _, name := range s.Provider.SecretQuery {
			if strings.Contains(value, "?"+name+"=") || strings.Contains(value, "&"+name+"=") {
				return true
			}
		}
		plain := unescaped(value)
		if plain == value {
			break
		}
		value = plain
	}
	return false
}

// spaced takes a plus for a space: it is one in a query, and itself elsewhere.
func spaced(text string) string { return strings.ReplaceAll(text, "+", " ") }

// unescaped decodes what is escaped as in a URL, and leaves the rest.
func unescaped(value string) string {
	if !strings.Contains(value, "%") {
		return value
	}
	var plain strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] == '%' && i+2 < len(value) {
			if c, err := url.PathUnescape(value[i : i+3]); err == nil {
				plain.WriteString(c)
				i += 2
				continue
			}
		}
		plain.WriteByte(value[i])
	}
	return plain.String()
}
