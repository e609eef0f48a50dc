package doctor

// meanings are the most likely causes of refusals, by reason. The pages in docs/providers describe
// the causes for each sender.
var meanings = map[string]string{
	"wrong_signature":             "the secret differs, or a proxy changes the body",
	"missing_signature":           "not from the sender, or signing is not enabled at the sender",
	"malformed_signature":         "not from the sender, or from another kind of endpoint",
	"wrong_token":                 "the token differs: copy it again",
	"missing_token":               "not from the sender, or the token is missing from the sender's settings",
	"old_timestamp":               "an old delivery was sent again, or a clock is wrong",
	"future_timestamp":            "a clock is wrong",
	"replayed":                    "the signature was already used under another id",
	"replayed_with_other_content": "the signature was already used with another body: the delivery is forged",
	"unknown_source":              "no source in the configuration has this path",
	"unreadable_body":             "signed, but not in the sender's format",
	"no_usable_event":             "signed, but without a usable event id: check event_id of the source, if its provider has this setting",
	"test_event":                  "a test event of the sender, but the source is set to livemode: true",
	"too_large":                   "raise max_body of the source",
	"overload":                    "too many concurrent requests: add a gateway",
	"overload_memory":             "raise gateway.max_buffered, or add a gateway",
	"database":                    "the database did not answer in time; senders retry",
	"busy":                        "the database did not answer in time; senders retry",
	"no_valid_secret":             "no secret of the source is valid at this time",
}

// Meaning returns the most likely cause of refusals for a reason, or "". The page "Receiving" in
// docs describes the response to each kind of refusal.
func Meaning(reason string) string { return meanings[reason] }
