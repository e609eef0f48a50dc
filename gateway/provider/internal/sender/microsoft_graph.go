package sender

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Microsoft Graph signs nothing: every item of a delivery repeats the
// clientState that the subscription was made with.
// Source: learn.microsoft.com/graph, "Receive change notifications through
// webhooks", "changeNotification resource type".
var graphState = proof.KeySpelling{Encoding: proof.Raw}

var errNoGraphList = errors.New("the body has no list value of objects, which carry clientState")

func MicrosoftGraph(provider.Options) (*provider.Provider, error) {
	rule := proof.Each("/value", graphItem)
	return &provider.Provider{
		Name:  "microsoft-graph",
		Title: "Microsoft Graph",
		About: provider.About{
			Confirmed: provider.Unconfirmed,
			Signing:   "None. Every item of /value repeats the clientState of its subscription, in the body.",
			KeyRule: "id of each item of /value. Without it a hash of subscriptionId, changeType, resource and the etag of resourceData. Items with " +
				"neither, and those about the subscription itself, are events of their own each time.",
			Setup: []string{
				"Make up a clientState of at most 128 characters: it is the secret of the source. Several subscriptions may have one each; list them all.",
				"POST https://graph.microsoft.com/v1.0/subscriptions with notificationUrl {url} (and lifecycleNotificationUrl, the same) and clientState.",
				"Graph checks the URL at once, and Hooklatch answers: the source must be configured before. Renew the subscription before it expires.",
			},
			Notes: []string{
				"clientState is part of the body and is stored with it: treat stored bodies of this source as secret, and make up a new clientState when you renew.",
				"One delivery may carry items of several subscriptions. All of them must carry a clientState we know.",
				"An endpoint of which more than 10 % of the answers take longer than 2.9 s is throttled.",
				"Lifecycle items (type lifecycle.missed, lifecycle.reauthorizationRequired, ...) have no id.",
				"Unconfirmed: that items always have an id. Encrypted resource data is stored as it comes; its validationTokens are not verified.",
			},
			Backfill: "Delta queries.",
			Docs:     "https://learn.microsoft.com/en-us/graph/change-notifications-delivery-webhooks",
		},
		Verify:      verifyGraph,
		Events:      rule.Events,
		Handshake:   graphValidation,
		Methods:     []string{http.MethodPost},
		Answer:      func(*provider.Request) *provider.Answer { return &provider.Answer{Status: http.StatusAccepted} },
		CheckSecret: graphState.Check,
		Sign:        signGraph,
		Sample:      sampleGraph,
		Deadline:    3 * time.Second,
		RetryWindow: 4 * time.Hour,
	}, nil
}

// graphValidation answers the check of a new URL, which carries no clientState.
func graphValidation(_ context.Context, r *provider.Request, _ []secret.Value, _ time.Time) (*provider.Answer, error) {
	return proof.EchoQuery(r, "validationToken")
}

// verifyGraph wants a clientState that we know in every item, of which there
// must be one: an empty list proves nothing. It stops at the first item that
// has none, before it reads the rest.
func verifyGraph(_ context.Context, r *provider.Request, secrets []secret.Value, _ time.Time) (provider.Verified, error) {
	var verified provider.Verified
	proven, items := "", 0
	w := &proof.Walk{Text: r.Body}
	err := w.Members(func(name string) error {
		if name != "value" {
			return nil
		}
		return w.Items(func(int) error {
			state, err := graphStateAt(w)
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
		return provider.Verified{}, &provider.VerifyError{Reason: provider.ReasonMissingToken, Detail: "the body has no list /value, whose items carry clientState"}
	case err != nil:
		return provider.Verified{}, err
	case items == 0:
		return provider.Verified{}, &provider.VerifyError{Reason: provider.ReasonMissingToken, Detail: "/value is empty or not there"}
	}
	return verified, nil
}

// graphStateAt reads the clientState of the item the walk is at.
func graphStateAt(w *proof.Walk) (string, error) {
	state := ""
	err := w.Members(func(name string) error {
		if name != "clientState" {
			return nil
		}
		raw, err := w.Value()
		state, _ = proof.Plain(raw)
		return err
	})
	if err == nil && state == "" || errors.Is(err, proof.ErrNoJSON) {
		return "", &provider.VerifyError{Reason: provider.ReasonMissingToken, Detail: "an item has no clientState"}
	}
	return state, err
}

// graphItem describes one item. The beta of Graph leaves out ids now and then.
func graphItem(d *proof.Document) ([]provider.Event, error) {
	subscription, change, resource := proof.At("/subscriptionId"), proof.At("/changeType"), proof.At("/resource")
	if lifecycle := proof.At("/lifecycleEvent"); lifecycle.Optional(d) != "" {
		return proof.Facts{Id: proof.EveryTime(subscription, lifecycle), Kind: proof.Fixed("lifecycle"), Detail: lifecycle}.Of(d)
	}
	etag := proof.At("/resourceData/@odata.etag")
	item := proof.Facts{Kind: change}
	switch {
	case proof.At("/id").Optional(d) != "":
		item.Id = proof.Verbatim(proof.At("/id"))
	case etag.Optional(d) != "":
		item.Id = proof.Hashed(subscription, change, resource, etag)
	default:
		item.Id = proof.EveryTime(subscription, change, resource)
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
