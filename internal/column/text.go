package column

import "github.com/hooklatch/hooklatch/internal/safetext"

// maxReasonLen limits the stored text of an error or an operator's reason, in bytes.
const maxReasonLen = 2 << 10

// Reason returns the part of an error, or of an operator's reason, that a row stores.
func Reason(s string) string { return safetext.Excerpt(s, maxReasonLen) }

// Done returns the sentence that a row stores about an operator action: "retried by alice: it
// was the wrong URL".
func Done(what, who, reason string) string {
	text := what + " by " + who
	if reason != "" {
		text += ": " + reason
	}
	return Reason(text)
}
