package gateway

import (
	"encoding/base64"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/payload"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Quarantine keeps refused deliveries, within its limits, so that they can be verified again. The
// gateway calls Accepted before it writes a response, and Keep after it has written one. No method
// may block. *quarantine.Keeper implements Quarantine.
type Quarantine interface {
	// Keep offers the quarantine a refused request whose body has the given size, in bytes. Keep
	// may call refused, which builds the request, but not after Keep has returned.
	Keep(source identity.Source, from netip.Prefix, size int, refused func() quarantine.Refused)
	// Accepted records the address of a delivery that was accepted or was a duplicate.
	Accepted(source identity.Source, from netip.Prefix)
	// Known reports whether an accepted delivery from an address to a source is remembered. An
	// empty source means any source. The gateway calls Known for each delivery and each connection.
	Known(source identity.Source, from netip.Prefix) bool
}

var _ Quarantine = (*quarantine.Keeper)(nil)

// keepsRefused reports whether a source has a quarantine. The parameter src is nil for an unknown
// source.
func (g *Gateway) keepsRefused(src *source) bool {
	return src != nil && src.cell.Quarantine != nil && !src.QuarantineOff
}

// keep offers a refused request with content to the quarantine if the request may prove genuine
// once the configuration is corrected. It offers no replays. It also offers no requests that were
// refused because of a fault of Hooklatch: their senders try again.
func (rx *reception) keep(r *refusal) {
	mayBeGenuine := r.result == resultRejected && !r.replay || r.result == resultInvalid
	if !rx.gateway.keepsRefused(rx.source) || !mayBeGenuine || rx.request == nil || !rx.source.hasContent(rx.request) {
		return
	}
	rx.source.cell.Quarantine.Keep(identity.Source(rx.source.Name), rx.flight.from.address, len(rx.request.Body), func() quarantine.Refused {
		return rx.refused(r)
	})
}

// hasContent reports whether a request has a body, or an event in its URL or headers.
func (s *source) hasContent(request *provider.Request) bool {
	if len(request.Body) > 0 {
		return true
	}
	events, err := s.Provider.Events(request)
	return err == nil && len(events) > 0
}

// refused builds the request that the quarantine keeps. It puts the secrets that the request
// carried into the field Secrets, and omits every header value that is or repeats a secret (I12).
func (rx *reception) refused(r *refusal) quarantine.Refused {
	original, src := rx.echo.Request(), rx.source
	scheme, host := rx.gateway.calledAt(original)
	kept := quarantine.Refused{
		Source: identity.Source(src.Name), Reason: r.reason, From: rx.flight.from.address,
		Method: original.Method, Host: host, Secure: scheme == "https", Target: original.URL.EscapedPath(),
		Secrets: src.carriedSecrets(rx.request), Body: rx.request.Body,
	}
	if r.cause != nil {
		kept.Detail = r.cause.Error()
	} else {
		kept.Detail = r.message
	}
	inURL := src.Provider.Content != nil && len(rx.request.Body) == 0 // the event may be in the query
	if (src.Provider.SignsURL || inURL) && len(src.Provider.SecretQuery) == 0 && original.URL.RawQuery != "" {
		kept.Target += "?" + original.URL.RawQuery
	}
	kept.Headers = src.storedHeaders(rx.request.Header)
	src.keepSignatures(kept.Headers, rx.request.Header)
	if shown := shownSecrets(src.carried(rx.request)); len(shown) > 0 {
		for name, values := range kept.Headers {
			for _, value := range values {
				if src.repeatsAny(value, shown) {
					delete(kept.Headers, name)
					break
				}
			}
		}
	}
	return kept
}

// keepSignatures adds to kept the headers that usually carry credentials but, in this request,
// carry only its signature.
func (s *source) keepSignatures(kept map[string][]string, sent http.Header) {
	if s.Provider.IsSignature == nil {
		return
	}
	for _, name := range neverStored {
		values := sent[name]
		isCredential := func(value string) bool { return !s.Provider.IsSignature(name, value) }
		if len(values) > 0 && !slices.Contains(s.secretHeaders, name) && !slices.ContainsFunc(values, isCredential) {
			kept[name] = values
		}
	}
}

// Prefixes that name the location of a secret in a request.
const (
	inHeader = "header "
	inQuery  = "query "
)

// carriedSecrets returns the values of a request that are secrets themselves, by location. The
// values are in the spelling that restoreSecrets looks for, because only their HMACs are stored.
func (s *source) carriedSecrets(request *provider.Request) map[string][]secret.Value {
	found := make(map[string][]secret.Value)
	for name, values := range s.carried(request) {
		for _, value := range values {
			found[name] = append(found[name], secret.New(s.normal(value)))
		}
	}
	return found
}

// normal returns a carried value in the spelling that the provider's Sign writes.
func (s *source) normal(value string) string {
	if s.Provider.NormalSecret == nil {
		return value
	}
	return s.Provider.NormalSecret(value)
}

func (s *source) carried(request *provider.Request) map[string][]string {
	found := make(map[string][]string)
	for _, name := range s.secretHeaders {
		if values := request.Header.Values(name); len(values) > 0 {
			found[inHeader+name] = values
		}
	}
	if len(s.Provider.SecretQuery) > 0 {
		query := payload.ParseForm(request.URL.RawQuery)
		for _, name := range s.Provider.SecretQuery {
			if values := query[name]; len(values) > 0 {
				found[inQuery+name] = values
			}
		}
	}
	return found
}

// shortestShown is the minimum length, in bytes, of the texts that shownSecrets returns.
const shortestShown = 4

// shownSecrets returns the texts in which a header could repeat a carried secret: the value, the
// last word of the value, and the password in a Basic credential.
func shownSecrets(carried map[string][]string) []string {
	var texts []string
	add := func(text string) {
		if len(text) >= shortestShown {
			texts = append(texts, spaced(text))
		}
	}
	for _, values := range carried {
		for _, value := range values {
			text := strings.TrimSpace(value)
			add(text)
			bare := text[strings.LastIndexByte(text, ' ')+1:]
			add(bare)
			if pair, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(bare, "=")); err == nil {
				_, password, _ := strings.Cut(string(pair), ":")
				add(password)
			}
		}
	}
	return texts
}

// restored rebuilds the request of a quarantined delivery, with the URL that the sender called, for
// the provider to verify.
func (g *Gateway) restored(src *source, kept *quarantine.Delivery) (*provider.Request, error) {
	original, err := http.NewRequest(kept.Method, kept.Target, nil) //nolint:noctx // the request is not sent
	if err != nil {
		return nil, err
	}
	original.Host, original.Header = kept.Host, http.Header(kept.Headers).Clone()
	called := g.publicURL(src, original)
	if src.PublicURL == nil && g.opts.PublicURL == nil {
		called.Host, called.Scheme = kept.Host, "http"
		if kept.Secure {
			called.Scheme = "https"
		}
	}
	return &provider.Request{Method: kept.Method, URL: called, Header: original.Header, Body: kept.Body}, nil
}
