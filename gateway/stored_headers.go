package gateway

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// neverStored lists the headers that may carry credentials, whether a proxy, a browser or the
// sender set them.
var neverStored = []string{"Authorization", "Cookie", "Proxy-Authorization", "Set-Cookie"}

// storedHeaders returns a delivery's headers without the headers that may carry credentials, and
// without any value that repeats a secret (I12). A proxy in front may copy the called URL, token
// included, into its own headers. Several values of one name stay separate. If all headers may be
// stored, storedHeaders returns header itself, which must not change afterwards.
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

// hides reports whether all values of a header are left out.
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

// sentSecrets returns the source's secrets, in each form in which a request may carry them. No
// stored header may contain one. The result is nil if requests carry only a signature.
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

// maxUnescaped is the maximum number of forms of a header value that are searched for a secret: as
// it arrived, unescaped once and unescaped twice. A URL in another URL's query is escaped twice.
const maxUnescaped = 3

// repeatsSecret reports whether a header value contains one of the source's secrets, plain or
// URL-escaped, or a parameter that carries a secret.
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
