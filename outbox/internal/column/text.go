package column

import "github.com/hooklatch/hooklatch/outbox/safetext"

// maxReasonLen bounds what is kept of an error or of a person's words, in bytes.
const maxReasonLen = 2 << 10

// Reason is as much of an error, or of a person's words, as a row keeps.
func Reason(s string) string { return safetext.Excerpt(s, maxReasonLen) }
