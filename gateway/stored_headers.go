package gateway

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// neverStored are the headers that may carry credentials of other parties: a proxy, a
// browser, or the sender's own account.
var neverStored = []string{"Authorization", "Cookie", "Proxy-Authorization", "Set-Cookie"}

// storedHeaders returns the headers of a delivery without any value that is a secret or
// repeats one (I12): a proxy in front may copy the URL that it was called with, token
// included, into headers of its own. Several values of one name stay separate. If all may
// be stored, it returns header itself, which must not change afterwards.
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

// hidesAny reports whether any value of the header must not be stored.
func (s *source) hidesAny(header http.Header) bool {
	for name, values := range header {
		if s.hides(name) || slices.ContainsFunc(values, s.repeatsSecret) {
			return true
		}
	}
	return false
}

// sentSecrets returns the texts that requests of the source carry as their proof and that
// must not be stored anywhere else. It is nil if requests carry a signature.
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

// maxUnescaped is how often a header value is unescaped in the search for a secret: a URL
// in the query of a URL is escaped twice.
const maxUnescaped = 3

// repeatsSecret reports whether a header value contains a secret of the source, also
// escaped as in a URL, or a parameter that carries one.
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

// spaced turns each plus into a space, because a plus means a space in a query.
func spaced(text string) string { return strings.ReplaceAll(text, "+", " ") }

// unescaped decodes URL escapes and leaves the rest unchanged.
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
