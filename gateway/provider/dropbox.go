package provider

import (
	"cmp"
	"context"
	"crypto/sha256"
	"net/http"
	"time"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// newDropbox knows the webhooks of the files API. They name the accounts in
// which something changed, and nothing else.
// Source: dropbox.com/developers/reference/webhooks.
func newDropbox(Options) (*Provider, error) {
	s := &scheme{
		headers:  []headerNames{{signature: "X-Dropbox-Signature"}},
		hash:     sha256.New,
		encoding: hexDigits,
		template: template{inBody},
		secret:   keySpelling{encoding: rawBytes},
	}
	account := facts{id: everyTime(at("")), kind: fixed("list_folder")}
	rule := each("/list_folder/accounts", account.of)
	return &Provider{
		Name:  "dropbox",
		Title: "Dropbox",
		About: About{
			Confirmed: Unconfirmed,
			Signing:   "HMAC-SHA256 over the body, in hex, in the header X-Dropbox-Signature. No time is signed.",
			KeyRule: "The account and a number of our own: each account of each delivery is an event. Dropbox sends no id, and two deliveries " +
				"with the same content are two changes.",
			Setup: []string{
				"App Console, the app, Webhooks: add the URI {url}. Hooklatch answers the challenge: the source must be configured before.",
				"The app secret (App Console, Settings) is the secret of the source.",
			},
			Notes: []string{
				"A delivery says only that something changed in an account. What it was is found with /files/list_folder/continue and the cursor of the last time.",
				"A delivery that is sent again is another event, and leads to one more look. To put those close together into one, set dedup: content on the source.",
				"Whoever captured a delivery can send it again; that too leads to a look only. Two changes of one account have the same bytes, so " +
					"that the replay guard would suspect nearly every delivery: it is off unless `replay_guard` says otherwise.",
				"Unconfirmed: an answer within 10 s and retries for about 10 minutes.",
			},
			Backfill: "/files/list_folder/continue with the cursor kept for each account.",
			Docs:     "https://www.dropbox.com/developers/reference/webhooks",
		},
		Verify:      s.verify,
		Events:      rule.events,
		Handshake:   dropboxChallenge,
		Methods:     []string{http.MethodPost, http.MethodGet},
		CheckSecret: s.secret.check,
		Sign:        s.sign,
		Sample:      sampleDropbox,
		ReplayToken: s.replayToken,
		Deadline:    10 * time.Second,
		RetryWindow: 10 * time.Minute,
	}, nil
}

// dropboxChallenge answers the check of a new URI, which is not signed.
func dropboxChallenge(_ context.Context, r *Request, _ []secret.Value, _ time.Time) (*Answer, error) {
	if r.Method != http.MethodGet {
		return nil, nil
	}
	return echoQuery(r, "challenge")
}

func sampleDropbox(_, id string, _ time.Time) *Request {
	return sampleJSON(object{
		"list_folder": object{"accounts": []string{cmp.Or(id, freshID("dbid:"))}},
		"delta":       object{"users": []int{12345678}},
	})
}
