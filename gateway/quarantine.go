package gateway

import (
	"encoding/base64"
	"net/http"
	"net/netip"
	"strings"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Quarantine keeps deliveries that are refused, within its bounds, to be verified
// again. It is called once the answer is written, and must not block. *quarantine.Keeper
// is the one we ship.
type Quarantine interface {
	// Keep offers a request with a body of a size. refused makes it, for as long as
	// Keep runs.
	Keep(source identity.Source, from netip.Prefix, size int, refused func() quarantine.Refused)
	// Accepted notes where an accepted delivery came from.
	Accepted(source identity.Source, from netip.Prefix)
	// Known reports whether a delivery of a source from an address was accepted before.
	// An empty source means any. It is called for each delivery and each connection.
	Known(source identity.Source, from netip.Prefix) bool
}

var _ Quarantine = (*quarantine.Keeper)(nil)

// keepsRefused reports whether a source has a quarantine. It is nil for a request to none.
func (g *Gateway) keepsRefused(src *source) bool {
	return g.opts.Quarantine != nil && src != nil && !src.QuarantineOff
}

// keep offers a refused request to the quarantine: one that may turn out to be
// genuine once our configuration is right. A sender checks its endpoint again by
// itself, and is told to come back after a fault of ours.
func (rx *reception) keep(r *refusal) {
	mayBeGenuine := r.result == resultRejected && !r.replay || r.result == resultInvalid
	if !rx.gateway.keepsRefused(rx.source) || !mayBeGenuine || rx.request == nil || len(rx.request.Body) == 0 {
		return
	}
	rx.gateway.opts.Quarantine.Keep(identity.Source(rx.source.Name), rx.flight.from.address, len(rx.request.Body), func() quarantine.Refused {
		return rx.refused(r)
	})
}

// refused is the request as the quarantine keeps it: without anything that is itself
// a secret, or repeats one (I12).
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
	if src.Provider.SignsURL && len(src.Provider.SecretQuery) == 0 && original.URL.RawQuery != "" {
		kept.Target += "?" + original.URL.RawQuery
	}
	kept.Headers = src.storedHeaders(original.Header)
	if shown := shownSecrets(kept.Secrets); len(shown) > 0 {
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

// Names of what carries a secret, in the quarantine.
const (
	inHeader = "header "
	inQuery  = "query "
)

// carriedSecrets are the values of a request that are secrets themselves, by where
// they stand.
func (s *source) carriedSecrets(request *provider.Request) map[string][]secret.Value {
	found := make(map[string][]secret.Value)
	for name, values := range s.carried(request) {
		for _, value := range values {
			found[name] = append(found[name], secret.New(value))
		}
	}
	return found
}

func (s *source) carried(request *provider.Request) map[string][]string {
	found := make(map[string][]string)
	for _, name := range s.secretHeaders {
		if values := request.Header.Values(name); len(values) > 0 {
			found[inHeader+name] = values
		}
	}
	if len(s.Provider.SecretQuery) > 0 {
		query := request.URL.Query()
		for _, name := range s.Provider.SecretQuery {
			if values := query[name]; len(values) > 0 {
				found[inQuery+name] = values
			}
		}
	}
	return found
}

// shortestShown is how long a secret is at least that other headers are searched for.
const shortestShown = 4

// shownSecrets are the texts that stand for secrets a request carried: as they are,
// without the word before them, and of name and password the password.
func shownSecrets(secrets map[string][]secret.Value) []string {
	var texts []string
	add := func(text string) {
		if len(text) >= shortestShown {
			texts = append(texts, spaced(text))
		}
	}
	for _, values := range secrets {
		for _, value := range values {
			text := strings.TrimSpace(value.Reveal())
			add(text)
			bare := text[strings.LastIndexByte(text, ' ')+1:]
			add(bare)
			if pair, err := base64.StdEncoding.DecodeString(bare); err == nil {
				_, password, _ := strings.Cut(string(pair), ":")
				add(password)
			}
		}
	}
	return texts
}

// restored is a request of the quarantine as its provider's rules see it.
func (g *Gateway) restored(src *source, kept *quarantine.Delivery) (*provider.Request, error) {
	original, err := http.NewRequest(kept.Method, kept.Target, nil) //nolint:noctx // it is not sent
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
