package sender

import (
	"cmp"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// OpenAI declares OpenAI, which follows the Standard Webhooks specification. Source:
// platform.openai.com/docs/guides/webhooks; openai-go webhooks.
func OpenAI(o provider.Options) (*provider.Provider, error) {
	o.OccurredAt = provider.Clock{Pointer: "/created_at", Unit: string(proof.Seconds)}
	p, err := proof.StandardWebhooks(o, proof.WebhookNames())
	if err != nil {
		return nil, err
	}
	p.Name, p.Title = "openai", "OpenAI"
	p.HeaderFamilies = []string{"Webhook-*"}
	p.About = provider.About{
		Confirmed: provider.Confirmed{
			Signature:   provider.Documentation | provider.SDK,
			EventID:     provider.Documentation,
			Handshake:   provider.NoSuchThing,
			RetryWindow: provider.Nobody,
			Resend:      provider.Nobody,
		},
		Signing: "HMAC-SHA256 over `id.time.body`, in base64, as `v1` in `webhook-signature`, with `webhook-id` and `webhook-timestamp`. " +
			"The secret is `whsec_` followed by the key in base64. With `secret_encoding: raw`, the whole secret is the key.",
		KeyRule: "The header `webhook-id`, which is signed and the same for every retry. `/data/id` names the response or the batch, not " +
			"the event.",
		Setup: []string{
			"Open the platform settings of the project, Webhooks, Create. Enter the URL {url}, and choose the events.",
			"The signing secret (`whsec_...`) is shown once: it is the secret of the source.",
		},
		Notes: []string{
			"Bodies contain only ids: fetch the objects from the API.",
			"Unconfirmed: OpenAI retries for 72 hours, and the response deadline is 20 s.",
		},
		Docs: "https://platform.openai.com/docs/guides/webhooks",
	}
	p.Sample = sampleOpenAI
	p.Deadline, p.RetryWindow = 20*time.Second, 3*proof.Day
	return p, nil
}

func sampleOpenAI(eventType, id string, now time.Time) *provider.Request {
	eventType = cmp.Or(eventType, "response.completed")
	prefix := map[string]string{"response": "resp_", "batch": "batch_", "eval.run": "evalrun_", "fine_tuning.job": "ftjob-"}
	kind := eventType[:max(0, strings.LastIndexByte(eventType, '.'))]
	return proof.SampleJSON(proof.Object{
		"object": "event", "id": proof.FreshID("evt_"), "type": eventType, "created_at": now.Unix(),
		"data": proof.Object{"id": proof.FreshID(prefix[kind])},
	}, proof.WebhookNames().ID, cmp.Or(id, proof.FreshID("wh_")), "User-Agent", "OpenAI/1.0 (+https://platform.openai.com/docs/webhooks)")
}
