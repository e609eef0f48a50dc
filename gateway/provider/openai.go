package provider

import (
	"cmp"
	"strings"
	"time"
)

// newOpenAI knows OpenAI, which signs by the Standard Webhooks specification.
// Source: platform.openai.com/docs/guides/webhooks; openai-go webhooks.
func newOpenAI(o Options) (*Provider, error) {
	o.OccurredAt = Clock{Pointer: "/created_at", Unit: string(seconds)}
	p, err := standardWebhooks(o, webhookNames())
	if err != nil {
		return nil, err
	}
	p.Name, p.Title = "openai", "OpenAI"
	p.About = About{
		Confirmed: Unconfirmed,
		Signing: "HMAC-SHA256 over `id.time.body`, in base64, as `v1` of `webhook-signature`, with `webhook-id` and `webhook-timestamp`. " +
			"The secret is base64 behind `whsec_`; `secret_encoding: raw` takes one that is not.",
		KeyRule: "The header `webhook-id`, which is signed and the same for every retry. Not `/data/id`, which names the response or the batch.",
		Setup: []string{
			"Platform settings of the project, Webhooks, Create: URL {url}, and the events.",
			"The signing secret (`whsec_...`) is shown once: it is the secret of the source.",
		},
		Notes: []string{
			"Bodies hold ids only: fetch what they name from the API.",
			"Unconfirmed: retries over 72 hours, and an answer within 20 s.",
		},
		Docs: "https://platform.openai.com/docs/guides/webhooks",
	}
	p.Sample = sampleOpenAI
	p.Deadline, p.RetryWindow = 20*time.Second, 3*day
	return p, nil
}

func sampleOpenAI(eventType, id string, now time.Time) *Request {
	eventType = cmp.Or(eventType, "response.completed")
	prefix := map[string]string{"response": "resp_", "batch": "batch_", "eval.run": "evalrun_", "fine_tuning.job": "ftjob-"}
	kind := eventType[:max(0, strings.LastIndexByte(eventType, '.'))]
	return sampleJSON(object{
		"object": "event", "id": freshID("evt_"), "type": eventType, "created_at": now.Unix(),
		"data": object{"id": freshID(prefix[kind])},
	}, webhookNames().id, cmp.Or(id, freshID("wh_")), "User-Agent", "OpenAI/1.0 (+https://platform.openai.com/docs/webhooks)")
}
