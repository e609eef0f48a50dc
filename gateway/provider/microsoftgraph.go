package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Microsoft Graph signs nothing: every item of a delivery repeats the
// clientState that the subscription was made with.
// Source: learn.microsoft.com/graph, "Receive change notifications through
// webhooks", "changeNotification resource type".
var graphState = keySpelling{encoding: rawBytes}

var errNoGraphList = errors.New("the body has no list value of objects, which carry clientState")

func newMicrosoftGraph(Options) (*Provider, error) {
	rule := each("/value", graphItem)
	return &Provider{
		Name:  "microsoft-graph",
		Title: "Microsoft Graph",
		About: About{
			Confirmed: Unconfirmed,
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
		Events:      rule.events,
		Handshake:   graphValidation,
		Methods:     []string{http.MethodPost},
		Answer:      func(*Request) *Answer { return &Answer{Status: http.StatusAccepted} },
		CheckSecret: graphState.check,
		Sign:        signGraph,
		Sample:      sampleGraph,
		Deadline:    3 * time.Second,
		RetryWindow: 4 * time.Hour,
	}, nil
}

// graphValidation answers the check of a new URL, which carries no clientState.
func graphValidation(_ context.Context, r *Request, _ []secret.Value, _ time.Time) (*Answer, error) {
	return echoQuery(r, "validationToken")
}

// verifyGraph wants a clientState that we know in every item, of which there
// must be one: an empty list proves nothing. It stops at the first item that
// has none, before it reads the rest.
func verifyGraph(_ context.Context, r *Request, secrets []secret.Value, _ time.Time) (Verified, error) {
	var verified Verified
	proven, items := "", 0
	w := &walk{text: r.Body}
	err := w.members(func(name string) error {
		if name != "value" {
			return nil
		}
		return w.items(func(int) error {
			state, err := graphStateAt(w)
			if err != nil {
				return err
			}
			items++
			if state == proven {
				return nil
			}
			index, err := graphState.match(secrets, [][]byte{[]byte(state)}, func(key []byte) [][]byte { return [][]byte{key} })
			if _, refused := errors.AsType[*VerifyError](err); refused {
				return &VerifyError{Reason: ReasonWrongToken, Detail: "clientState"}
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
	case errors.Is(err, errNoJSON):
		return Verified{}, &VerifyError{Reason: ReasonMissingToken, Detail: "the body has no list /value, whose items carry clientState"}
	case err != nil:
		return Verified{}, err
	case items == 0:
		return Verified{}, &VerifyError{Reason: ReasonMissingToken, Detail: "/value is empty or not there"}
	}
	return verified, nil
}

// graphStateAt reads the clientState of the item the walk is at.
func graphStateAt(w *walk) (string, error) {
	state := ""
	err := w.members(func(name string) error {
		if name != "clientState" {
			return nil
		}
		raw, err := w.value()
		state, _ = plain(raw)
		return err
	})
	if err == nil && state == "" || errors.Is(err, errNoJSON) {
		return "", &VerifyError{Reason: ReasonMissingToken, Detail: "an item has no clientState"}
	}
	return state, err
}

// graphItem describes one item. The beta of Graph leaves out ids now and then.
func graphItem(d *document) ([]Event, error) {
	subscription, change, resource := at("/subscriptionId"), at("/changeType"), at("/resource")
	if lifecycle := at("/lifecycleEvent"); lifecycle.optional(d) != "" {
		return facts{id: everyTime(subscription, lifecycle), kind: fixed("lifecycle"), detail: lifecycle}.of(d)
	}
	etag := at("/resourceData/@odata.etag")
	item := facts{kind: change}
	switch {
	case at("/id").optional(d) != "":
		item.id = verbatim(at("/id"))
	case etag.optional(d) != "":
		item.id = hashed(subscription, change, resource, etag)
	default:
		item.id = everyTime(subscription, change, resource)
	}
	return item.of(d)
}

// signGraph puts clientState into every item.
func signGraph(r *Request, key secret.Value, _ time.Time) error {
	state, err := graphState.key(key)
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

func sampleGraph(eventType, id string, now time.Time) *Request {
	message := "Users/48d31887-5fad-4d73-a9f5-3c356e68a038/Messages/AAMkAGUwNjQ4ZjIxLTQ3Y2YtNDViMi1iZjc4LTMzYjEw"
	return sampleJSON(object{"value": []object{{
		"id": cmp.Or(id, uuid.NewString()), "subscriptionId": "7f105c7d-2dc5-4530-97cd-4e7ae6534c07", "changeType": cmp.Or(eventType, "created"),
		"subscriptionExpirationDateTime": now.Add(day).UTC().Format(time.RFC3339), "tenantId": "84bd8158-6d4d-4958-8b9f-9d6445542f95",
		"resource":     message,
		"resourceData": object{"@odata.type": "#Microsoft.Graph.Message", "@odata.id": message, "@odata.etag": `W/"CQAAABYAAADkrWGo7bouTKlsgTZMr9Kw"`, "id": "AAMkAGUwNjQ4"},
	}}})
}
