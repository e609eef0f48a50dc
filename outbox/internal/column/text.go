package column

import "github.com/hooklatch/hooklatch/internal/safetext"

// maxReasonLen bounds what is kept of an error or of a person's words, in bytes.
const maxReasonLen = 2 << 10

// Reason is as much of an error, or of a person's words, as a row keeps.
func Reason(s string) string { return safetext.Excerpt(s, maxReasonLen) }

// Done is the sentence a row keeps of what a person ordered: "retried by alice: it
// was the wrong URL".
func Done(what, who, reason string) string {
	text := what + " by " + who
	if reason != "" {
		text += ": " + reason
	}
	return Reason(text)
}
