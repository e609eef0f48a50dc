package doctor

// meanings are what refusals most often mean, and what to do, by their reason. What
// they mean of each sender is on its page in docs/providers.
var meanings = map[string]string{
	"wrong_signature":             "the secret differs, or something in front changes the body",
	"missing_signature":           "not from the sender, or its signing is not switched on",
	"malformed_signature":         "not from the sender, or of another kind of endpoint",
	"wrong_token":                 "the token differs: copy it again",
	"missing_token":               "not from the sender, or the token is not in its settings",
	"old_timestamp":               "sent again by somebody, or a clock is wrong",
	"future_timestamp":            "a clock is wrong",
	"replayed":                    "a proof that came before, under another id",
	"replayed_with_other_content": "a proof that came before, with another body: forged",
	"unknown_source":              "a path that no source of the configuration has",
	"unreadable_body":             "signed, but not in the format of the sender",
	"no_usable_event":             "signed, but without an id: compare event_id of the source",
	"test_event":                  "a test of the sender, and the source says livemode: true",
	"too_large":                   "raise max_body of the source",
	"overload":                    "too many at once: add a gateway",
	"overload_memory":             "raise gateway.max_buffered, or add a gateway",
	"database":                    "the database did not answer in time; senders come again",
	"busy":                        "the database did not answer in time; senders come again",
	"no_valid_secret":             "no secret of the source is valid at this time",
}

// Meaning is what a refusal for a reason most often means. Empty: the page "Receiving"
// has them all.
func Meaning(reason string) string { return meanings[reason] }
