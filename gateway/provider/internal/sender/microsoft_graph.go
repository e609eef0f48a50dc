package sender

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/entra"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// graphState reads the clientState with which a subscription was created. Microsoft Graph
// signs no body: every item in a delivery repeats the clientState. Deliveries with resource
// data also have tokens. Source: learn.microsoft.com/graph, "Receive change notifications
// through webhooks", "Change notifications that include resource data", "changeNotification
// resource type".
var graphState = proof.KeySpelling{Encoding: proof.Raw}

const (
	// graphPublisher is the application that sends all change notifications.
	graphPublisher = "0bf30f3b-4a52-48df-9a82-234910c4a086"
	// maxGraphTokens is the maximum number of tokens in a delivery. A delivery has one for each
	// pair of application and tenant among its items.
	maxGraphTokens = 100
)

var errNoGraphList = errors.New("the body has no list value whose objects contain clientState")

// MicrosoftGraph declares Microsoft Graph's change notifications.
func MicrosoftGraph(o provider.Options) (*provider.Provider, error) {
	tokens, err := entra.New(o, graphPublisher)
	if err != nil {
		return nil, err
	}
	rule := proof.Each("/value", graphItem)
	return &provider.Provider{
		Name:  "microsoft-graph",
		Title: "Microsoft Graph",
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Documentation,
				EventID:     provider.Documentation,
				Handshake:   provider.Documentation,
				RetryWindow: provider.Documentation,
				Resend:      provider.Nobody,
			},
			Signing: "Nothing is signed. Every item of /value repeats the clientState of its subscription, in the body. With `app_ids`, " +
				"the validationTokens of deliveries with resource data are also verified. These are JSON Web Tokens of Microsoft " +
				"(RS256), issued for your application by the service that sends change notifications.",
			KeyRule: "id of each item of /value. For an item without an id: a hash of subscriptionId, changeType, resource and the etag of resourceData. " +
				"Items with neither id nor etag, and items about the subscription itself, are new events each time.",
			Setup: []string{
				"Choose a clientState of at most 128 characters: it is the secret of the source. Each subscription may have a different " +
					"clientState; list them all.",
				"Create the subscription: POST https://graph.microsoft.com/v1.0/subscriptions with clientState, and with {url} as " +
					"notificationUrl and lifecycleNotificationUrl.",
				"Graph checks the URL immediately, and Hooklatch answers: configure the source first. Renew the subscription before it expires.",
				"For subscriptions with resource data, set `app_ids` to the ids of your applications. Also set `tenants` if you know all of them.",
			},
			Notes: []string{
				"clientState is part of the body and is stored with it. Treat stored bodies of this source as secret, and choose a new " +
					"clientState when you renew the subscription.",
				"One delivery may carry items of several subscriptions. All of them must carry a configured clientState.",
				"Graph throttles an endpoint when more than 10 % of its responses take longer than 2.9 s.",
				"Lifecycle items (type lifecycle.missed, lifecycle.reauthorizationRequired, ...) have no id.",
				"Unconfirmed: items always have an id.",
				"Encrypted resource data is stored as received. Without `app_ids`, the validationTokens are not checked. With `app_ids`, " +
					"a delivery is refused if one of its tokens fails, or if it has no token for the tenant of an item.",
				"Tokens are verified with the keys of Microsoft's public cloud, not with those of its national clouds.",
			},
			Backfill: "Delta queries return the objects that have changed since the previous query.",
			Docs:     "https://learn.microsoft.com/en-us/graph/change-notifications-delivery-webhooks",
		},
		Verify: func(ctx context.Context, r *provider.Request, secrets []secret.Value, now time.Time) (provider.Verified, error) {
			verified, delivery, err := verifyGraph(r, secrets)
			if err == nil { // do not fetch keys for a sender without the clientState
				err = delivery.verify(ctx, tokens, now)
			}
			if err != nil {
				return provider.Verified{}, err
			}
			return verified, nil
		},
		Events:      rule.Events,
		Handshake:   graphValidation,
		Answer:      func(*provider.Request) *provider.Answer { return &provider.Answer{Status: http.StatusAccepted} },
		CheckSecret: graphState.Check,
		Sign:        signGraph,
		Sample:      sampleGraph,
		Deadline:    3 * time.Second,
		RetryWindow: 4 * time.Hour,
	}, nil
}

// graphValidation answers Graph's check of a new URL. The check carries no clientState.
func graphValidation(_ context.Context, r *provider.Request, _ []secret.Value, _ time.Time) (*provider.Answer, error) {
	return proof.EchoQuery(r, "validationToken")
}

// graphDelivery holds what a delivery contains besides the events: its tokens, and the tenants
// whose resource data it contains.
type graphDelivery struct {
	tokens    []string
	tenants   []string
	encrypted bool // true if an item contains resource data
}

// verifyGraph requires a known clientState in every item, and at least one item: an empty list is
// not authenticated. It stops at the first item without a known clientState, and does not read the
// rest.
func verifyGraph(r *provider.Request, secrets []secret.Value) (provider.Verified, graphDelivery, error) {
	var verified provider.Verified
	var delivery graphDelivery
	proven, items := "", 0
	w := &proof.Walk{Text: r.Body}
	err := w.Members(func(name string) error {
		switch name {
		case "validationTokens":
			return delivery.readTokens(w)
		case "value":
		default:
			return nil
		}
		return w.Items(func(int) error {
			state, err := delivery.readItem(w)
			if err != nil {
				return err
			}
			items++
			if state == proven {
				return nil
			}
			index, err := graphState.Match(secrets, [][]byte{[]byte(state)}, func(key []byte) [][]byte { return [][]byte{key} })
			if _, refused := errors.AsType[*provider.VerifyError](err); refused {
				return &provider.VerifyError{Reason: provider.ReasonWrongToken, Detail: "clientState"}
			}
			if err != nil {
				return err
			}
			if items == 1 {
				verified.SecretIndex = index
			}
			proven = state
			return nil
		})
	})
	switch {
	case errors.Is(err, proof.ErrNoJSON):
		err = &provider.VerifyError{Reason: provider.ReasonMissingToken, Detail: "the body has no list /value whose items contain clientState"}
	case err == nil && items == 0:
		err = &provider.VerifyError{Reason: provider.ReasonMissingToken, Detail: "/value is empty or missing"}
	}
	return verified, delivery, err
}

// verify verifies every token in the delivery and requires one for each tenant whose data is
// in it. The tokens authenticate the sender, not the content. Errors: the same as from
// Provider.Verify.
func (d *graphDelivery) verify(ctx context.Context, tokens *entra.Tokens, now time.Time) error {
	switch {
	case !tokens.Wanted():
		return nil
	case len(d.tokens) == 0 && d.encrypted:
		return &provider.VerifyError{Reason: provider.ReasonMissingToken, Detail: "/validationTokens is empty or missing"}
	}
	var proven []string
	for _, text := range d.tokens {
		tenant, err := tokens.TenantOf(ctx, text, now)
		if err != nil {
			return err
		}
		proven = append(proven, tenant)
	}
	for _, tenant := range d.tenants {
		if !slices.Contains(proven, tenant) {
			return &provider.VerifyError{Reason: provider.ReasonWrongClaim, Detail: "tid: no token belongs to the tenant of an item"}
		}
	}
	return nil
}

// readItem returns the clientState of the item at the current position. If the item contains
// resource data, readItem records that fact and the data's tenant.
func (d *graphDelivery) readItem(w *proof.Walk) (string, error) {
	state, tenant, encrypted := "", "", false
	err := w.Members(func(name string) error {
		switch name {
		case "clientState", "tenantId", "encryptedContent":
		default:
			return nil
		}
		raw, err := w.Value()
		switch text, _ := proof.Plain(raw); name {
		case "clientState":
			state = text
		case "tenantId":
			tenant = strings.ToLower(text)
		default:
			encrypted = encrypted || string(raw) != "null"
		}
		return err
	})
	if err == nil && state == "" || errors.Is(err, proof.ErrNoJSON) {
		return "", &provider.VerifyError{Reason: provider.ReasonMissingToken, Detail: "an item has no clientState"}
	}
	if encrypted {
		d.encrypted = true
		if tenant != "" && !slices.Contains(d.tenants, tenant) {
			d.tenants = append(d.tenants, tenant)
		}
	}
	return state, err
}

// readTokens records the validation tokens at the current position. It records a token that is not
// a string as "", which verify refuses.
func (d *graphDelivery) readTokens(w *proof.Walk) error {
	list, err := w.Value()
	if err != nil || string(list) == "null" {
		return err
	}
	of := &proof.Walk{Text: list}
	return of.Items(func(int) error {
		raw, err := of.Value()
		text, _ := proof.Plain(raw)
		if d.tokens = append(d.tokens, text); len(d.tokens) > maxGraphTokens {
			return proof.TooMany("validationTokens")
		}
		return err
	})
}

// graphItem describes one item. Graph's beta version sometimes leaves out ids.
func graphItem(d *proof.Document) ([]provider.Event, error) {
	subscription, change, resource := proof.At("/subscriptionId"), proof.At("/changeType"), proof.At("/resource")
	if lifecycle := proof.At("/lifecycleEvent"); lifecycle.Optional(d) != "" {
		return proof.Facts{ID: proof.EveryTime(subscription.IfAny(), lifecycle), Kind: proof.Fixed("lifecycle"), Detail: lifecycle}.Of(d)
	}
	etag := proof.At("/resourceData/@odata.etag")
	item := proof.Facts{Kind: change}
	switch {
	case proof.At("/id").Optional(d) != "":
		item.ID = proof.Verbatim(proof.At("/id"))
	case etag.Optional(d) != "":
		item.ID = proof.Hashed(subscription.IfAny(), change.IfAny(), resource.IfAny(), etag)
	default:
		item.ID = proof.EveryTime(subscription.IfAny(), change.IfAny(), resource.IfAny())
	}
	return item.Of(d)
}

// signGraph puts clientState into every item.
func signGraph(r *provider.Request, key secret.Value, _ time.Time) error {
	state, err := graphState.Key(key)
	if err != nil {
		return err
	}
	var body map[string]json.RawMessage
	var items []map[string]json.RawMessage
	if json.Unmarshal(r.Body, &body) != nil || json.Unmarshal(body["value"], &items) != nil || len(items) == 0 {
		return errNoGraphList
	}
	for _, item := range items {
		if item == nil {
			return errNoGraphList
		}
		if item["clientState"], err = json.Marshal(string(state)); err != nil {
			return err
		}
	}
	if body["value"], err = json.Marshal(items); err != nil {
		return err
	}
	r.Body, err = json.Marshal(body)
	return err
}

func sampleGraph(eventType, id string, now time.Time) *provider.Request {
	message := "Users/48d31887-5fad-4d73-a9f5-3c356e68a038/Messages/AAMkAGUwNjQ4ZjIxLTQ3Y2YtNDViMi1iZjc4LTMzYjEw"
	return proof.SampleJSON(proof.Object{"value": []proof.Object{{
		"id": cmp.Or(id, uuid.NewString()), "subscriptionId": "7f105c7d-2dc5-4530-97cd-4e7ae6534c07", "changeType": cmp.Or(eventType, "created"),
		"subscriptionExpirationDateTime": now.Add(proof.Day).UTC().Format(time.RFC3339), "tenantId": "84bd8158-6d4d-4958-8b9f-9d6445542f95",
		"resource":     message,
		"resourceData": proof.Object{"@odata.type": "#Microsoft.Graph.Message", "@odata.id": message, "@odata.etag": `W/"CQAAABYAAADkrWGo7bouTKlsgTZMr9Kw"`, "id": "AAMkAGUwNjQ4"},
	}}})
}
