// Package twilioforms reads Twilio's forms: the signed text, and the event that each form
// describes.
package twilioforms

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"hash"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/internal/payload"
)

// BodyHash is the URL parameter with the hash of a body that is not a form.
const BodyHash = "bodySHA256"

// Settings is the header that names the hash if Twilio signs with a shared key instead of the auth
// token: key=...,algorithm=HMAC_SHA256. Without this header, the hash is SHA-1.
const Settings = "X-Twilio-Webhooks-Signature-Settings"

// Hash returns the hash with which a request is signed. If the request has the header Settings, the
// header must name exactly one algorithm, and Hash must know it. Errors: *VerifyError.
func Hash(header http.Header) (func() hash.Hash, error) {
	settings, ok := header[Settings]
	if !ok {
		return sha1.New, nil
	}
	var algorithms []string
	for part := range strings.SplitSeq(strings.Join(settings, ","), ",") {
		if name, value, _ := strings.Cut(strings.TrimSpace(part), "="); name == "algorithm" {
			algorithms = append(algorithms, value)
		}
	}
	if len(algorithms) == 1 {
		switch algorithms[0] {
		case "HMAC_SHA1":
			return sha1.New, nil
		case "HMAC_SHA256":
			return sha256.New, nil
		}
	}
	return nil, &provider.VerifyError{Reason: provider.ReasonForbiddenAlgorithm, Detail: Settings + " names neither HMAC_SHA1 nor HMAC_SHA256"}
}

// MACs returns one signature for each spelling of the URL. The signature covers the URL followed by
// the parameters.
func MACs(newHash func() hash.Hash, key, params []byte, urls ...string) [][]byte {
	macs := make([][]byte, len(urls))
	mac := hmac.New(newHash, key)
	for i, u := range urls {
		mac.Reset()
		mac.Write([]byte(u))
		mac.Write(params)
		macs[i] = mac.Sum(nil)
	}
	return macs
}

// Signed returns the signed text that follows the URL: a form's fields, or nil if only the URL is
// signed. It returns an error unless the signature covers the body, either through a hash in the
// URL or through the form's fields. Otherwise a signature for the URL would fit any body.
func Signed(r *provider.Request) ([]byte, error) {
	var hashes []string
	if strings.Contains(r.URL.RawQuery, BodyHash) { // Twilio never escapes the parameter's name
		hashes = payload.ParseForm(r.URL.RawQuery)[BodyHash]
	}
	switch {
	case len(hashes) > 0 && !(len(r.Body) == 0 && r.Method == http.MethodGet && len(hashes) > 1):
		return nil, hashed(hashes, r.Body)
	case len(r.Body) == 0: // a GET has only its URL
		return nil, nil
	case !proof.IsForm(r):
		return nil, &provider.VerifyError{Reason: provider.ReasonMissingSignature, Detail: "a body that is not a form needs " + BodyHash + " in the URL"}
	}
	if len(r.Body) > proof.MaxFormSize || bytes.Count(r.Body, []byte("&")) >= proof.MaxFields {
		return nil, proof.TooMany("fields")
	}
	return sortedParams(string(r.Body)), nil
}

// hashed returns an error unless all hashes in the URL are the body's. Twilio sometimes repeats
// the parameter, and two readers could use different values.
func hashed(hashes []string, body []byte) error {
	sum := sha256.Sum256(body)
	for _, text := range hashes {
		want, err := proof.Hex.Decode(text)
		if err != nil {
			return &provider.VerifyError{Reason: provider.ReasonMalformedSignature, Detail: BodyHash + " is not hex"}
		}
		if !hmac.Equal(sum[:], want) {
			return &provider.VerifyError{Reason: provider.ReasonWrongSignature, Detail: BodyHash + " belongs to another body"}
		}
	}
	return nil
}

// sortedParams returns a form's names and values without separators. Names are in byte order, and a
// name's distinct values are sorted, as in Twilio's libraries. It reads the form as
// payload.ParseForm does, but without building a map.
func sortedParams(form string) []byte {
	type field struct{ name, value string }
	fields := make([]field, 0, strings.Count(form, "&")+1)
	for name, value := range payload.Pairs(form) {
		fields = append(fields, field{name, value})
	}
	slices.SortFunc(fields, func(a, b field) int {
		if c := strings.Compare(a.name, b.name); c != 0 {
			return c
		}
		return strings.Compare(a.value, b.value)
	})
	params := make([]byte, 0, len(form))
	for _, f := range slices.Compact(fields) {
		params = append(append(params, f.name...), f.value...)
	}
	return params
}

// URLs lists the spellings of the URL that Twilio is known to sign: without the port and with
// it, each also with a re-escaped query.
func URLs(u *url.URL) []string {
	without, with := *u, *u
	without.Host = strings.TrimSuffix(u.Host, ":"+u.Port())
	if u.Port() == "" {
		with.Host += map[string]string{"https": ":443", "http": ":80"}[u.Scheme]
	}
	urls := []string{without.String(), with.String()}
	if query := legacyQuery(u.RawQuery); query != u.RawQuery {
		without.RawQuery, with.RawQuery = query, query
		urls = append(urls, without.String(), with.String())
	}
	return urls
}

// legacyQuery escapes a query as Node's querystring does: equal names grouped, a space as %20,
// and !'()*-._~ unescaped.
func legacyQuery(query string) string {
	if query == "" {
		return ""
	}
	var names []string
	values := map[string][]string{}
	for name, value := range payload.Pairs(query) {
		if _, known := values[name]; !known {
			names = append(names, name)
		}
		values[name] = append(values[name], value)
	}
	pairs := make([]string, 0, len(names))
	for _, name := range names {
		for _, value := range values[name] {
			pairs = append(pairs, nodeEscape.Replace(url.QueryEscape(name))+"="+nodeEscape.Replace(url.QueryEscape(value)))
		}
	}
	return strings.Join(pairs, "&")
}

var nodeEscape = strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*")
