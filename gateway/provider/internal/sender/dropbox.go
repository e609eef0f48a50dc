package sender

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Dropbox declares the files API's webhooks. They only name the accounts in which something
// changed. Source: dropbox.com/developers/reference/webhooks.
func Dropbox(provider.Options) (*provider.Provider, error) {
	s := proof.SignedBody("X-Dropbox-Signature", "", proof.Hex)
	account := proof.Facts{ID: proof.EveryTime(proof.At("")), Kind: proof.Fixed("list_folder")}
	accounts := proof.Each("/list_folder/accounts", account.Of)
	other := proof.Facts{ID: proof.EveryTime(proof.Fixed(proof.UnknownType)), Kind: proof.Fixed(proof.UnknownType)}
	var rule proof.EventRule = func(d *proof.Document) ([]provider.Event, error) {
		root, err := d.JSON()
		if err == nil && root.IsObject() && !proof.Lookup(root, "/list_folder").Exists() {
			return other.Of(d) // an unknown kind
		}
		return accounts(d)
	}
	return proof.SignedBy(s, &provider.Provider{
		Name:           "dropbox",
		Title:          "Dropbox",
		HeaderFamilies: []string{"X-Dropbox-*"},
		About: provider.About{
			Confirmed: provider.Confirmed{
				Signature:   provider.Others,
				EventID:     provider.Nobody,
				Handshake:   provider.Others,
				RetryWindow: provider.Nobody,
				Resend:      provider.Nobody,
			},
			Signing: "HMAC-SHA256 over the body, in hex, in the header X-Dropbox-Signature. No time is signed.",
			KeyRule: "The account and a random text that Hooklatch adds: each account of each delivery is an event. Dropbox sends no id, and two deliveries " +
				"with the same content are two changes.",
			Setup: []string{
				"Configure the source first. Then open the app in the App Console, Webhooks, and add the URI {url}: Hooklatch answers " +
					"the challenge.",
				"The app secret (App Console, Settings) is the secret of the source.",
			},
			Notes: []string{
				"A delivery says only that something changed in an account. Call /files/list_folder/continue with the last cursor to get " +
					"the changes.",
				"A resent delivery is another event, and causes one more call of list_folder. To merge deliveries that arrive close " +
					"together, set dedup: content on the source.",
				"Anyone who has captured a delivery can resend it. This only causes another call. Two changes of one account have the " +
					"same bytes, so the replay guard would flag nearly every delivery: it is off unless `replay_guard` is set.",
				"Unconfirmed: the response deadline is 10 s, and Dropbox retries for about 10 minutes.",
			},
			Backfill: "/files/list_folder/continue lists the changes after the cursor that you keep for each account.",
			Docs:     "https://www.dropbox.com/developers/reference/webhooks",
		},
		Events:      rule.Events,
		Handshake:   dropboxChallenge,
		Methods:     []string{http.MethodPost, http.MethodGet},
		Sample:      sampleDropbox,
		ReplayToken: s.ReplayToken,
		Deadline:    10 * time.Second,
		RetryWindow: 10 * time.Minute,
	}), nil
}

// dropboxChallenge answers the unsigned check of a new URI.
func dropboxChallenge(_ context.Context, r *provider.Request, _ []secret.Value, _ time.Time) (*provider.Answer, error) {
	if r.Method != http.MethodGet {
		return nil, nil
	}
	return proof.EchoQuery(r, "challenge")
}

func sampleDropbox(_, id string, _ time.Time) *provider.Request {
	return proof.SampleJSON(proof.Object{
		"list_folder": proof.Object{"accounts": []string{cmp.Or(id, proof.FreshID("dbid:"))}},
		"delta":       proof.Object{"users": []int{12345678}},
	})
}
